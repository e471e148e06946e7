"""Lai et al. (2022): user-entity privacy."""

from discreet_recipes.recipe import Recipe
from discreet_recipes.uedp import sizes

RECIPE = Recipe(
    folder=__name__,
    name="uedp",
    subject="UeDP",
    title="Training with privacy for users and entities",
    paper="Lai et al. (2022), User-Entity Differential Privacy in Learning Natural Language "
    "Models.",
    data="conll2003-{train,valid,test}, agnews-dev; in full also agnews-test, and for "
    "more than 10,001 texts agnews-train",
    fields="the fields user, tokens and tags (CoNLL-2003) or text (AG News)",
    short_help="Training with privacy for users and the entities they mention.",
    help="UeDP-Alg as published, certified training and baselines: perplexity over epsilon.",
    note="What each run claims stands beside what holds.",
    the_paper_ran="What the paper ran: next-word prediction on CoNLL-2003 (a document is a user), "
    "AG News (users made at random, 15 texts each on average) and SEC contracts with a three-layer "
    "AWD-LSTM of 1,150 units and GPT-2; UeDP-Alg with two estimators beside user-level privacy, "
    "de-identification and training without noise; perplexity against epsilon, against categories "
    "of entities and against the rate of sentences without an entity.",
    we_run="What we run: the same on CoNLL-2003 and AG News with an AWD-LSTM, of one layer unless "
    "--layers says otherwise, that all algorithms get from the same public text; the published "
    "algorithm with the figure that it claims, a lower bound of what holds and the attack that "
    "contradicts it, and the certified algorithm, whose figure is proven. Perplexity is told apart "
    "for words of entities and for others, for vocabularies that know few and many names. Where "
    "they are named, a pretrained language model and a pretrained encoder take the places of GPT-2 "
    "and BERT (Figures 3, 4 and 7), by adapters and by all their weights.",
    quick_minutes=6,
    quick=sizes.QUICK,
    standard=sizes.STANDARD,
    papers=sizes.PAPER,
    files=sizes.files,
    rows=sizes.rows,
    needs=sizes.needs,
)
