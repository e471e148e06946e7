"""LangChain: what a real agent sends to its model, turn after turn."""

import asyncio
import itertools

import pytest
from pydantic import PrivateAttr

from command import MARKER
from discreet import DiscreetError
from discreet.integrations._conversation import Conversations

ASKED = f"{MARKER} " * 12


@pytest.fixture(scope="module", autouse=True)
def _library():
    """Loaded for the tests alone, as it takes a second in every process that collects them."""
    global \
        AgentMiddleware, \
        AIMessage, \
        ChatPromptTemplate, \
        GenericFakeChatModel, \
        HumanMessage, \
        InMemorySaver
    global SanitizingMiddleware, SystemMessage, ToolMessage, create_agent, sanitizing_runnable
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langgraph.checkpoint.memory import InMemorySaver

    from discreet.integrations.langchain import SanitizingMiddleware, sanitizing_runnable


@pytest.fixture
def model():
    class Model(GenericFakeChatModel):
        """Notes what it is sent, which is what a provider would see."""

        _seen: list = PrivateAttr(default_factory=list)

        def _generate(self, messages, *given, **more):
            self._seen.append(messages)
            return super()._generate(messages, *given, **more)

    return Model(messages=iter([AIMessage(f"answer {turn}") for turn in range(10)]))


@pytest.fixture
def middleware(sanitizer):
    return SanitizingMiddleware(sanitizer)


def test_an_agent_sends_released_texts_and_each_once(model, middleware, is_released):
    agent = create_agent(
        model, middleware=[middleware], system_prompt="Be kind.", checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "1"}}
    state = agent.invoke({"messages": [HumanMessage(ASKED)]}, thread)
    assert state["messages"][0].content == ASKED  # on this side nothing changes
    agent.invoke({"messages": [HumanMessage(ASKED)]}, thread)
    asyncio.run(agent.ainvoke({"messages": [HumanMessage("and more")]}, thread))
    one, two, three = model._seen
    assert [message.content for message in one[:1]] == ["Be kind."]
    assert is_released(one[1].content, 12)
    # The history is what was sent before; a new message is a new draw, even of the same words.
    assert two[1].content == one[1].content
    assert two[2].content == "answer 0"
    assert is_released(two[3].content, 12)
    assert two[3].content != two[1].content
    assert [m.content for m in three[:4]] == [m.content for m in two]
    assert middleware.units == 26
    assert MARKER not in str(model._seen)
    other = {"configurable": {"thread_id": "2"}}
    agent.invoke({"messages": [HumanMessage(ASKED)]}, other)
    assert model._seen[-1][1].content != one[1].content
    assert any("earlier request" in each for each in middleware.statement.public)


def test_a_message_is_sent_as_it_was_when_those_before_it_are_not_sent_any_more(model, middleware):
    class LatestTwo(AgentMiddleware):
        """What people do to keep a long conversation short."""

        def wrap_model_call(self, request, handler):
            return handler(request.override(messages=request.messages[-3:]))

    agent = create_agent(model, middleware=[LatestTwo(), middleware], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    for turn in range(4):
        parts = [{"type": "text", "text": ASKED}, {"type": "text", "text": f"{turn}"}]
        agent.invoke({"messages": [HumanMessage(parts)]}, thread)
    for before, after in itertools.pairwise(model._seen):
        assert after[0].content == before[-1].content
        assert after[-1].content != before[-1].content
    assert middleware.units == 4 * 13


def test_parts_tools_and_names(middleware, sanitizer, is_released):
    runnable = sanitizing_runnable(sanitizer)
    asked = HumanMessage([{"type": "text", "text": ASKED}, ASKED], name=MARKER, id="7")
    tool = ToolMessage(ASKED, tool_call_id="c1", name="search", artifact=MARKER)
    said = [SystemMessage("s"), AIMessage("a")]
    system, answer, human, result = runnable.invoke([*said, asked, tool])
    assert [system, answer] == said
    assert all(is_released(part["text"], 12) for part in human.content)
    assert is_released(result.content, 12)
    assert result.tool_call_id == "c1"
    assert MARKER not in str([human, result])
    for picture in ({"type": "image_url", "image_url": {"url": MARKER}}, {"type": "file"}):
        with pytest.raises(DiscreetError, match="not text") as refused:
            runnable.invoke([HumanMessage([picture])])
        assert MARKER not in str(refused.value)
    del middleware


def test_a_runnable_in_a_chain(model, sanitizer, is_released):
    prompt = ChatPromptTemplate([("system", "Be kind."), ("human", "{asked}")])
    chain = prompt | sanitizing_runnable(sanitizer) | model
    chain.invoke({"asked": ASKED})
    assert is_released(model._seen[0][1].content, 12)
    texts = sanitizing_runnable(sanitizer).batch([ASKED, "one two"])
    assert [is_released(text, words) for text, words in zip(texts, [12, 2], strict=True)]
    with pytest.raises(DiscreetError, match="got one of type int"):
        sanitizing_runnable(sanitizer).invoke(3)


def test_what_it_is_made_from(sanitizer, settings):
    with pytest.raises(DiscreetError, match="not both"):
        SanitizingMiddleware(sanitizer, epsilon=3)
    with pytest.raises(DiscreetError, match="accept_weak"):
        SanitizingMiddleware(**settings | {"epsilon": 1000.0})
    assert SanitizingMiddleware(**settings).statement.epsilon == 1.0


def test_nothing_of_a_text_is_remembered(sanitizer):
    kept = Conversations(sanitizer, remembered=3)
    first = kept.released([ASKED])
    assert kept.released([ASKED]) == first
    assert kept.released([ASKED], "another") != first
    assert MARKER not in str(kept._kept)
    assert len(kept.released([ASKED] * 5)) == 5
    assert len(kept._kept) == 3
    with pytest.raises(DiscreetError, match="message 0"):
        kept.released(["a\0b"])
