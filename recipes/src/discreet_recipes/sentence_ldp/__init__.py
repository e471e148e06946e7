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
    data="sst2-{train,dev,test}, imdb-{train,val,test}, yelp-dev, qnli-dev, 20news-{train,test} "
    "and reuters50-{train,test}",
    fields="the fields text and label (qnli: question, sentence, label; reuters50: text, author)",
    short_help="Sentence vectors and labels, local privacy.",
    help="An encoder trained end to end through the noise and released once, accuracy over "
    "epsilon1, dimensions and epsilon2, and attacks.",
    note="Encoding takes most of the time; vectors are kept in the folder and used again.",
    the_paper_ran="What the paper ran: BERT-base fine-tuned end to end through the noise on SST-2, "
    "IMDb and QNLI, with linear maps to m' dimensions and back, three epochs with fresh noise in "
    "each, test vectors sanitised too; accuracy against epsilon1 (vectors), m' and epsilon2 "
    "(labels); membership, inversion and attribute attacks.",
    we_run="What we run: the packaged all-MiniLM-L6-v2. First it is trained end to end with linear "
    "M1 and M2 through the noise, as the paper does (SST-2, QNLI with both texts in one sequence, "
    "and IMDb where it is asked for), without noise, and on PUBLIC text alone, so that every "
    "protected sentence is released once. Then, with the encoder as it is, a map trained through "
    "the noise on public text, for curves over epsilon1, m' and epsilon2 on SST-2 and IMDb (by its "
    "first tokens, 256 unless --tokens says otherwise). "
    "Attacks: membership, words (also white-box, by a search through a lower layer), and authors "
    "and groups of Reuters 50 and 20 Newsgroups. Test vectors are sanitised too.",
    quick_minutes=9,
    quick=sizes.QUICK,
    standard=sizes.STANDARD,
    papers=sizes.PAPER,
    files=sizes.files,
    rows=sizes.rows,
    apart=sizes.apart,
    needs=sizes.needs,
)
