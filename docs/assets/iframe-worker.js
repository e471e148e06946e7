// Browsers run no workers for pages opened from a folder (file://). There the search runs in a hidden
// frame instead, which speaks the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.onmessage = null
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      window.addEventListener("message", event => {
        if (event.source !== this.inside) return
        const passed = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(passed)
        if (this.onmessage) this.onmessage(passed)
      })
      const page = this.inside.document
      page.open()
      page.write("<!doctype html><body></body>")
      page.close()
      this.inside.postMessage = data => parentOf(data, this.inside)
      this.inside.importScripts = (...urls) => urls.reduce(
        (before, each) => before.then(() => loaded(page, each)), Promise.resolve()
      )
      loaded(page, url).then(() => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      })
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.inside.dispatchEvent(new MessageEvent("message", { data }))
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }

  const parentOf = (data, source) =>
    window.dispatchEvent(new MessageEvent("message", { data, source }))

  const loaded = (page, url) => new Promise((done, failed) => {
    const script = page.createElement("script")
    script.src = url
    script.onload = done
    script.onerror = failed
    page.body.appendChild(script)
  })
}
