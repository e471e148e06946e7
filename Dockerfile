# The service in a container. Keys, policy and the ledger's key are mounted, not built in:
#   docker build -t discreet .
#   docker run -p 127.0.0.1:8008:8008 -v ./deploy:/etc/discreet:ro discreet
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --prefix /install ".[serve,postgres]"

FROM python:3.12-slim
COPY --from=build /install /usr/local
RUN useradd --system --uid 10001 --create-home discreet
USER discreet
ENV DISCREET_CACHE=/home/discreet/.cache/discreet PYTHONUNBUFFERED=1
EXPOSE 8008
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["python", "-c", \
  "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8008/readyz', timeout=2)"]
# A container is reached from outside, so a file of keys is needed; TLS is for the proxy before it.
ENTRYPOINT ["discreet", "serve", "--host", "0.0.0.0"]
CMD ["--policy", "/etc/discreet/policy.toml", "--keys", "/etc/discreet/keys.toml"]
