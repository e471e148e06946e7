"""The card in the folder of a transformers model: what it is, what holds, how to open it."""

from discreet.models.adapter_kinds import ALL
from discreet.models.language import Base
from discreet.receipt import FOLDER_RECEIPT, Receipt
from discreet.statement import Notion

CARD = "README.md"
_OPEN = """\
```python
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

base = AutoModelForCausalLM.from_pretrained("{base}")  # the folder of the model below
model = PeftModel.from_pretrained(base, "THIS FOLDER")
tokenizer = AutoTokenizer.from_pretrained("THIS FOLDER")
```

`AutoPeftModelForCausalLM.from_pretrained("THIS FOLDER")` does the same where the model below lies
as `adapter_config.json` says, which is a path on the machine that trained it.
`model.merge_and_unload().save_pretrained(...)` writes one model without adapters.
`discreet generate FOLDER --prompt ...` prints text.
"""

_OPEN_WHOLE = """\
```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("THIS FOLDER")
tokenizer = AutoTokenizer.from_pretrained("THIS FOLDER")
```

`discreet generate FOLDER --prompt ...` prints text.
"""

_PREDICT = "`discreet predict TEXTS.jsonl --model FOLDER -o OUT.csv` says the class of each text."


def model_card(receipt: Receipt, base: Base, *, generates: bool) -> str:
    """The card as Markdown, from the receipt alone: nothing of the text is in it.

    Args:
        receipt: of the run.
        base: the public model below.
        generates: whether it writes text; a classifier does not.
    """
    about = receipt.about["model"]["adapters"]
    rules, steps, figures = (receipt.about[name] for name in ("rules", "steps", "figures"))
    guaranteed = receipt.statement.notion is not Notion.NONE
    title = "trained with differential privacy" if guaranteed else "trained WITHOUT a guarantee"
    where = "all blocks"
    if about["last_blocks"] is not None:
        where = f"the last blocks, {about['last_blocks']} of them"
    whole = about["kind"] == ALL
    what = f"{about['kind']} adapters of rank {about.get('rank')} in {where}"
    if whole:
        every = about["last_blocks"] is None
        what = f"every weight {'' if every else f'of {where}'}".rstrip()
    lines = [
        "---",
        f"library_name: {'transformers' if whole else 'peft'}",
        f"base_model: {base.name}",
        "tags:",
        "- differential-privacy" if guaranteed else "- no-privacy-guarantee",
        "---",
        f"# {base.name if whole else f'Adapters for {base.name}'}, {title}",
        "",
        "## What is guaranteed",
        "",
        *(f"- {line}" for line in receipt.statement.lines()),
    ]
    if figures.get("joint") is not None:
        lines.append(
            f"- Epsilon of this run for one user {figures['user']:.4g}, for one entity "
            f"{figures['entity']:.4g}, for both together {figures['joint']:.4g}."
        )
    lines += [
        "",
        f"This is about the text that {'it was' if whole else 'the adapters were'} trained on, and "
        "about one run: if the same "
        "text was used for another model, both count together. It says nothing about what the "
        f"model {'it began with' if whole else 'below'} was trained on, nor about prompts. Text "
        "that the model writes costs nothing "
        f"more. `{FOLDER_RECEIPT}` is the receipt for programs.",
        "",
        "## What it is",
        "",
        "| | |",
        "|---|---|",
        f"| model {'before' if whole else 'below'} | {base.name}, SHA-256 of its files "
        f"{base.sha256} |",
        f"| trained | {about['trained']:,} numbers: {what} |",
        f"| algorithm | {rules['algorithm']}, {steps['made']:,} steps made, "
        f"{steps['charged']:,} charged |",
    ]
    if measured := receipt.about["public_evaluation"]:
        lines.append(f"| on public text | perplexity {measured['perplexity']:.4g} |")
    if generates:
        opened = _OPEN_WHOLE if whole else _OPEN.format(base=base.name)
        lines += ["", "## How to open it", "", opened]
    else:
        lines += ["", "## How to use it", "", _PREDICT]
    return "\n".join(lines).rstrip() + "\n"
