"""Small causal language models of several builds, and a folder that holds one with its words.

Transformers takes seconds to import: not for whoever only collects tests.
"""

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}"


def gpt2(words=12, blocks=2):
    import transformers

    config = transformers.GPT2Config(
        vocab_size=words,
        n_positions=16,
        n_embd=8,
        n_layer=blocks,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    torch.manual_seed(1)
    return transformers.GPT2LMHeadModel(config)


def llama(words=12, blocks=3):
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=words,
        hidden_size=8,
        intermediate_size=12,
        num_hidden_layers=blocks,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        bos_token_id=0,
        eos_token_id=0,
        tie_word_embeddings=True,
    )
    torch.manual_seed(1)
    return transformers.LlamaForCausalLM(config)


def save_model(folder, words, network=None):
    """Write a model that knows these words, one token each, with ``<s>`` and ``<unk>`` before."""
    import transformers

    known = {word: number for number, word in enumerate(("<s>", "<unk>", *words))}
    plain = Tokenizer(WordLevel(known, unk_token="<unk>"))
    plain.pre_tokenizer = Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain,
        bos_token="<s>",
        eos_token="<s>",
        unk_token="<unk>",
        chat_template=TEMPLATE,
    )
    (network or llama(len(known))).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
