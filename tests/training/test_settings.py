"""Settings of training are declared once, and asking for help loads nothing heavy."""

import inspect
import subprocess
import sys
from dataclasses import fields

import pytest

from discreet.errors import InvalidValue
from discreet.settings import settings_of
from discreet.training.documents.settings import PublicDocuments, StoreSettings
from discreet.training.settings import Resumption
from discreet.training.texts.settings import (
    FineTuning,
    FineTuningResumption,
    LabelledText,
    Pretraining,
    RewriterTraining,
)
from discreet.training.user_entity.audit_settings import TrainingAuditSettings
from discreet.training.user_entity.settings import (
    NetworkSettings,
    Records,
    RuleOptions,
    RunSettings,
)
from discreet.training.vectors.settings import (
    MapText,
    MapTrainingSettings,
    PublishedTask,
    TaskSettings,
)

ALL = [
    FineTuning,
    FineTuningResumption,
    LabelledText,
    MapText,
    NetworkSettings,
    Pretraining,
    PublicDocuments,
    PublishedTask,
    Records,
    Resumption,
    RewriterTraining,
    RuleOptions,
    RunSettings,
    StoreSettings,
    TaskSettings,
    TrainingAuditSettings,
]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_defaults_are_in_range_and_every_option_says_what_it_is_for(kind):
    kind()
    declared = list(settings_of(kind))
    assert declared
    assert all(each.setting.help.endswith((".", ",")) for each in declared)


def test_help_loads_neither_torch_nor_scipy():
    commands = ["candidates", "classify", "embeddings", "map", "user_entity"]
    code = "import sys;" + "".join(f"import discreet.cli.train.{name};" for name in commands)
    code += "import discreet.cli.audit_training;"
    code += "sys.exit(bool({'torch', 'scipy', 'transformers', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_functions_take_their_defaults_from_the_settings():
    pytest.importorskip("torch")
    from discreet.training.user_entity.rules import Rules
    from discreet.training.user_entity.trainer import UserEntityTrainer

    run = inspect.signature(UserEntityTrainer.run).parameters
    assert run["checkpoint_every"].default == RunSettings().checkpoint_every
    assert run["evaluate_every"].default == RunSettings().evaluate_every
    shared = {field.name for field in fields(Rules)} & {field.name for field in fields(RuleOptions)}
    assert "learning_rate" in shared
    for name in shared - {"noise"}:
        assert getattr(Rules(), name) == getattr(RuleOptions(), name)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "--noise or --epsilon"),
        ({"noise": 1.0, "epsilon": 1.0}, "one of the two"),
        ({"noise": 1.0, "cell_ratio": 1.5}, "cell clip must be at most clip"),
    ],
)
def test_rules_as_people_give_them_are_refused_by_name(given, message):
    with pytest.raises(InvalidValue, match=message):
        RuleOptions(**given).rules()


def test_rules_as_people_give_them():
    rules = RuleOptions(noise=3.0, clip=0.5, cell_ratio=0.2, holders=7).rules()
    assert (rules.noise, rules.clip, rules.cell_clip, rules.holders) == (3.0, 0.5, 0.1, 7)
    assert RuleOptions(algorithm="noiseless").rules().algorithm == "noiseless"


def test_an_audit_is_made_where_faults_show():
    loud, paper = TrainingAuditSettings(), TrainingAuditSettings(algorithm="published", steps=7)
    assert (loud.rules().user_rate, loud.chosen("canaries")) == (0.2, 300)
    assert (paper.rules().noise, paper.chosen("steps"), paper.chosen("runs")) == (2.0, 7, 60)


@pytest.mark.parametrize(("dim", "dimensions"), [("auto", 6), ("5", 1)])
def test_dimensions_of_a_map(dim, dimensions):
    assert len(MapText(dim=dim).dimensions) == dimensions
    with pytest.raises(InvalidValue, match="auto or a whole number"):
        _ = MapText(dim="few").dimensions
    with pytest.raises(InvalidValue, match="epsilon of Purkayastha"):
        MapTrainingSettings(-1.0)
