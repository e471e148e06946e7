"""Huang et al. (2024): truncated Laplace noise on words, and rewriting."""

from discreet_recipes.recipe import Recipe
from discreet_recipes.trlaplace import sizes

RECIPE = Recipe(
    folder=__name__,
    name="trlaplace",
    subject="Truncated Laplace",
    title="Truncated Laplace noise on words, and what rewriting makes of it",
    paper="Huang et al. (2024), Private Language Models via Truncated Laplacian Mechanism.",
    data="sst2-{train,dev,test} and agnews-{dev,test}; not quick: yelp-{dev,test}",
    fields="the fields text and label",
    short_help="Truncated Laplace noise on words, and rewriting.",
    help="Privacy and utility tests of Huang et al. (2024) over mechanisms and epsilons.",
    note="Each figure stands beside the epsilon and delta that hold.",
    the_paper_ran="The paper puts truncated Laplace noise on clipped word vectors (GloVe, "
    "fastText: 300 dimensions, 10,000 words) at delta = 4^-d and epsilon from 0.05 to 20, takes "
    "the nearest word, and reports that Yelp and Yahoo texts rewritten from it by an auto-encoder "
    "at epsilon = 0.05 are as good as unprotected ones.",
    we_run="We put the same noise on the words of the spaces given, on SST-2 and AG News (Yahoo "
    "and whole reviews of Yelp cannot be had; sentences of Yelp are run unless quick): the paper's "
    "settings first, then settings at which words survive. The paper's auto-encoder is run too, on "
    "public text, without noise and with each mechanism's. The "
    "rewriter reads released words only and is trained on public text of each set, kept apart. "
    "Classifiers are a bag of words trained and tested on sanitised text. BERTScore is that of "
    "all-MiniLM-L6-v2, so only its differences compare with the paper's. Fluency is the "
    "cross-entropy, in nats a word, of an interpolated Kneser-Ney model of the public text; loss "
    "is the rewriter's own cross-entropy of the original word.",
    quick_minutes=3,
    quick=sizes.QUICK,
    standard=sizes.STANDARD,
    papers=sizes.PAPER,
    files=sizes.files,
    rows=sizes.rows,
    apart=sizes.apart,
    needs=sizes.needs,
)
