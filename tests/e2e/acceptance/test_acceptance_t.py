"""Acceptance checks t1 to t16 but for t2 and t3: the thinking switch, system prompts, histories,
stop words, scripts, seeds and broken requests. See test_acceptance_d.py for how the tests are made."""

import pytest

from acceptance.prompts import (COUNT_TO_FIVE, COUNT_TO_THIRTY, ECHO, MARKERS, ONE_WORD_HELLO,
                                SECRETS, SYSTEM_MARKERS, TWO_AND_TWO)
from acceptance.target import CHAT, error_of, user

check = pytest.mark.check
model = pytest.mark.model
GREEDY = {"temperature": 0, "max_tokens": 4096}


def test_the_probe_finds_a_server_to_be_tested_directly(target):
    """GET /version as JSON, or a choice with a stop reason."""
    response = target.http.get("/version")
    probed = response.status_code == 200 and isinstance(response.json(), dict)
    assert probed or "stop_reason" in target.chat("hi", max_tokens=2).choice()


@check("t1a")
@pytest.mark.parametrize("question", TWO_AND_TWO)
def test_t1a_thinking_true(target, switch, question):
    assert target.chat(question, max_tokens=300, **switch(True)).reasoning()
    cut = target.chat(question, max_tokens=3, **switch(True)).check()
    assert cut.reasoning() and not cut.text() and cut.finish() == "length"


@check("t1b")
@pytest.mark.parametrize("question", TWO_AND_TWO)
def test_t1b_thinking_false(target, off, question):
    answer = target.chat(question, max_tokens=100, **off).check()
    assert not answer.reasoning().strip() and answer.text()


@check("t1c")
@pytest.mark.parametrize("question", TWO_AND_TWO)
def test_t1c_thinking_is_on_by_default(target, question):
    assert target.chat(question, max_tokens=300).reasoning()


@check("t4a")
@model
@pytest.mark.parametrize("wording", MARKERS)
def test_t4a_no_system(target, off, wording):
    assert "ALPHA_NO_SYSTEM" in target.chat(wording.format("ALPHA_NO_SYSTEM"), **GREEDY,
                                            **off).text()


@check("t4b")
@model
@pytest.mark.parametrize("wording", SYSTEM_MARKERS)
@pytest.mark.parametrize("question", ["What is your name?", "Hello, how are you?"])
def test_t4b_system_control(target, off, wording, question):
    messages = [{"role": "system", "content": wording.format("OBEY_SYSTEM_CONTROL")}]
    assert "OBEY_SYSTEM_CONTROL" in target.chat(messages + user(question), **GREEDY, **off).text()


@check("t6")
@model
@pytest.mark.parametrize("tell, acknowledge, ask", SECRETS)
def test_t6_multi_turn(target, off, tell, acknowledge, ask):
    messages = user(tell.format("BLUE_42")) + [{"role": "assistant", "content": acknowledge}]
    assert "BLUE_42" in target.chat(messages + user(ask), **GREEDY, **off).text()


@check("t7")
@pytest.mark.parametrize("question", COUNT_TO_FIVE)
def test_t7_streaming(target, question):
    fields = {"max_tokens": 80, "stream_options": {"include_usage": True}}
    stream = target.stream(question, **fields).check_harness()
    assert stream.fold().token_count() > 0


@check("t7")
@pytest.mark.strict
@pytest.mark.parametrize("question", COUNT_TO_FIVE)
def test_t7_contract(target, question):
    fields = {"max_tokens": 80, "temperature": 0, "stream_options": {"include_usage": True}}
    stream = target.stream(question, **fields).check(usage=True)
    assert "1, 2, 3, 4, 5" in stream.fold().text()


@check("t10")
@model
@pytest.mark.parametrize("question", COUNT_TO_THIRTY)
def test_t10_stop_word(target, off, question):
    answer = target.chat(question, stop=["15"], max_tokens=100, temperature=0, **off)
    assert "1" in answer.text() and "16" not in answer.text()


@check("t10")
@pytest.mark.strict
@pytest.mark.parametrize("question", COUNT_TO_THIRTY)
def test_t10_contract(target, off, question):
    whole, streamed = target.both(question, stop=["15"], max_tokens=100, temperature=0, **off)
    assert whole.check().text().endswith("13 14 ") and whole.finish() == "stop"
    assert whole.meaning() == streamed.meaning()


@check("t11a", "t11b")
@pytest.mark.local
@pytest.mark.parametrize("key", [None, "wrong", "firstX", "firs"])
def test_t11_keys(keyed, key):
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    body = {"messages": user("hi"), "max_tokens": 1}
    error = error_of(keyed.post(CHAT, body, headers=headers), 401)
    assert error["code"] == "invalid_api_key"


@check("t12_chinese")
@model
@pytest.mark.parametrize("wording", ECHO + ["请重复：{}"])
@pytest.mark.parametrize("text", ["你好，世界", "你好世界"])
def test_t12_chinese(target, off, wording, text):
    check_echo(target, wording, text, off)


@check("t12_japanese")
@model
@pytest.mark.parametrize("wording", ECHO + ["次の言葉を繰り返してください：{}"])
def test_t12_japanese(target, off, wording):
    check_echo(target, wording, "こんにちは", off)


@check("t12_emoji")
@model
@pytest.mark.parametrize("wording", ECHO)
@pytest.mark.parametrize("text", ["🎉", "Party 🎉🎊", "🎉🇯🇵", "🇩🇪🇯🇵"])
def test_t12_emoji(target, off, wording, text):
    check_echo(target, wording, text, off)


def check_echo(target, wording, text, off):
    whole, streamed = target.both(wording.format(text), **GREEDY, **off)
    assert text in whole.text() and "\ufffd" not in whole.text()
    assert whole.meaning() == streamed.meaning()


@check("t14")
@pytest.mark.parametrize("body", [{}, {"messages": None}, {"stream": True}])
def test_t14_empty_body(target, lives, body):
    error_of(target.post(CHAT, {"model": target.model, **body}), 400, param="messages")


@check("t15")
@pytest.mark.parametrize("question", ONE_WORD_HELLO)
def test_t15_seed(target, off, question):
    texts = {target.chat(question, temperature=0, seed=42, **off).text() for _ in range(2)}
    assert len(texts) == 1 and texts.pop()


@check("t16a")
def test_t16a_missing_role(target, lives):
    error_of(target.ask([{"content": "hi"}]), 400, param="messages[0].role")


@check("t16b")
def test_t16b_missing_content(target, lives):
    error_of(target.ask([{"role": "user"}]), 400, param="messages[0].content")


@check("t16c")
def test_t16c_empty_messages(target, lives):
    error_of(target.ask([]), 400, param="messages")
