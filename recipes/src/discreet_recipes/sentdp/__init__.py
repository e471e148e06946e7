"""Meehan et al. (2022): SentDP and DeepCandidate."""

from discreet_recipes.recipe import Recipe
from discreet_recipes.sentdp import sizes

RECIPE = Recipe(
    folder=__name__,
    name="sentdp",
    subject="SentDP",
    title="Documents with sentence-level privacy",
    paper="Meehan et al. (2022), Sentence-level Privacy for Document Embeddings.",
    data="20news-{train,test}, imdb-{train,val,test}; not quick: yelp-{dev,test}",
    fields="the fields text and label",
    short_help="Documents with sentence-level privacy.",
    help="DeepCandidate, its baselines and votes of sentences: macro-F1 over epsilon.",
    note="Encoding takes most of the time; vectors are kept in the folder and used again.",
    the_paper_ran="What the paper ran: SBERT vectors (768 dimensions) of the sentences of "
    "GoodReads, 20 Newsgroups (nine categories) and IMDb; DeepCandidate with 5,000 candidates and "
    "a recoder that keeps 50 clusters; box truncation, word-level metric privacy, the unprotected "
    "mean and a guesser beside it. Classifiers are 4-layer networks trained on vectors of the "
    "PUBLIC training documents, never on released ones; five trials over the noise; macro-F1 "
    "against epsilon, and at epsilon 10 against the number of sentences.",
    we_run="What we run: the same on 20 Newsgroups, IMDb and, unless quick, Yelp with "
    "all-MiniLM-L6-v2 (384 dimensions); logistic regression (quick) or a network of four layers as "
    "the classifier, trained on public documents alone; permute-and-flip beside the exponential "
    "mechanism; and votes of sentences, which are ours.",
    quick_minutes=5,
    quick=sizes.QUICK,
    standard=sizes.STANDARD,
    papers=sizes.PAPER,
    files=sizes.files,
    rows=sizes.rows,
)
