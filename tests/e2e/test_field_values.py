"""Every field of every endpoint with values of every kind, one at a time: the answer is a 200, or a
400 that names the field. Bodies are written by hand, since not all of them can be made of Python's
values."""

import json

import pytest

VALUES = ["true", "false", "0", "-1", "1.5", "-0.0", "1e18", "1e308", "1e-400", "1e400", "NaN",
          "9223372036854775807", "9223372036854775808", "18446744073709551616", '""', '"x"',
          '"\\u0000"', '"\\ud800"', "[]", "{}", "[null]", "[[]]", "[{}]", "[1]", '["a"]',
          '{"a":null}', '{"type":null}', '{"type":5}', '{"type":""}']
MESSAGES = '[{"role":"user","content":"hi"}]'
SAMPLING = """model temperature top_p top_k min_p n max_tokens stream stream_options stop
    stop_token_ids seed logit_bias logprobs frequency_penalty presence_penalty repetition_penalty
    min_tokens ignore_eos skip_special_tokens include_stop_str_in_output return_token_ids echo
    priority cache_salt prompt_cache_key response_format structured_outputs guided_json
    guided_regex guided_choice guided_grammar structural_tag use_beam_search prompt_logprobs
    chat_template bad_words allowed_token_ids truncate_prompt_tokens logits_processors"""
ENDPOINTS = {
    "/v1/chat/completions": ({"messages": MESSAGES, "max_tokens": "1"}, SAMPLING + """ messages
        max_completion_tokens top_logprobs tools tool_choice parallel_tool_calls functions
        function_call chat_template_kwargs enable_thinking thinking reasoning_effort
        thinking_token_budget thinking_budget add_generation_prompt continue_final_message"""),
    "/v1/completions": ({"prompt": '"hi"', "max_tokens": "1"}, SAMPLING + """ prompt best_of suffix
        add_special_tokens"""),
    "/v1/responses": ({"input": '"hi"', "max_output_tokens": "1"}, """model input instructions
        temperature top_p max_output_tokens max_tool_calls stream stream_options tools tool_choice
        parallel_tool_calls reasoning text include top_logprobs truncation previous_response_id
        conversation prompt background store metadata context_management stop seed user
        safety_identifier prompt_cache_key chat_template_kwargs thinking logit_bias"""),
    "/v1/messages": ({"messages": MESSAGES, "max_tokens": "1"}, """model messages max_tokens system
        temperature top_p top_k stop_sequences stream thinking tools tool_choice output_config
        output_format context_management mcp_servers chat_template_kwargs logit_bias seed"""),
    "/v1/messages/count_tokens": ({"messages": MESSAGES}, "model messages system tools thinking"),
    "/tokenize": ({"prompt": '"hi"'}, "model prompt messages add_special_tokens return_token_strs"),
    "/detokenize": ({"tokens": "[1]"}, "model tokens"),
}
# It is asked of the messages, which may be at fault.
OTHER_NAMES = {"continue_final_message": "messages"}


def check(response, field, case):
    if response.status_code == 200:
        if response.headers["content-type"].startswith("application/json"):
            json.loads(response.text, parse_constant=lambda word: pytest.fail(f"{word}: {case}"))
        return
    assert response.status_code in (400, 404), (case, response.text)
    error = response.json()["error"]
    if "invalid JSON" in error["message"]:
        return
    if "param" in error:
        names = (field, OTHER_NAMES.get(field, field))
        assert error["param"] and error["param"].startswith(names), (case, error)
    else:  # Anthropic's errors have a message alone
        assert field in error["message"], (case, error)


@pytest.mark.parametrize("path", ENDPOINTS)
def test_values_of_every_kind(api, alive, path):
    good, fields = ENDPOINTS[path]
    for field in fields.split():
        for value in VALUES:
            body = ",".join(f'"{key}":{text}' for key, text in {**good, field: value}.items())
            response = api.http.post(path, content=f"{{{body}}}".encode(),
                                     headers={"Content-Type": "application/json"})
            check(response, field, f"{path} {field}={value}")
