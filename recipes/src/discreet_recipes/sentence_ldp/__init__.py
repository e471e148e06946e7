"""Du et al. (2023): sentence vectors under local privacy."""

from discreet_recipes.recipe import Recipe
from discreet_recipes.sentence_ldp import sizes

RECIPE = Recipe(
    folder=__name__,
    name="sentence-ldp",
    subject="Sentence vectors",
    title="Sentence vectors and labels under local privacy",
    paper="Du et al. (2023), Sanitizing Sentence Embeddings (and Labels) for Local Differential "
    "Privacy.",
    data="sst2-{train,dev,test} and imdb-{train,val,test}",
    fields="the fields text and label",
    short_help="Sentence vectors and labels, local privacy.",
    help="Accuracy of released vectors over epsilon1, dimensions and epsilon2, and three attacks.",
    note="Encoding takes most of the time; vectors are kept in the folder and used again.",
    the_paper_ran="What the paper ran: BERT-base fine-tuned end to end through the noise on SST-2, "
    "IMDb and QNLI, with linear maps to m' dimensions and back, three epochs with fresh noise in "
    "each, test vectors sanitised too; accuracy against epsilon1 (vectors), m' and epsilon2 "
    "(labels); membership, inversion and attribute attacks.",
    we_run="What we run: the packaged all-MiniLM-L6-v2, frozen; a map trained through the noise on "
    "PUBLIC text alone; every sentence released once; M2 and the task layers trained on the "
    "releases; test vectors sanitised too. SST-2 (its dev part is public, and whole IMDb reviews "
    "help the map) and IMDb (by its first 256 tokens, its val part is public).",
    quick_minutes=9,
    quick=sizes.QUICK,
    standard=sizes.STANDARD,
    papers=sizes.PAPER,
    files=sizes.files,
)
