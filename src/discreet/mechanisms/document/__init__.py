"""Mechanisms that release the vector of a document and protect each of its sentences."""

from discreet.mechanisms.document.deep_candidate import DeepCandidate
from discreet.mechanisms.document.learned_votes import LearnedVotes
from discreet.mechanisms.document.sentence_votes import SentenceVotes
from discreet.mechanisms.document.soft_votes import SoftVotes
from discreet.mechanisms.document.truncation import Truncation
from discreet.mechanisms.document.vote_histogram import VoteHistogram

__all__ = [
    "DeepCandidate",
    "LearnedVotes",
    "SentenceVotes",
    "SoftVotes",
    "Truncation",
    "VoteHistogram",
]
