"""The endpoints around generation."""

from conftest import MAX_MODEL_LEN, error_of


def test_health_version_models(api):
    assert api.http.get("/health").status_code == 200
    assert api.http.head("/health").status_code == 200
    assert api.http.get("/ping").status_code == 200
    assert isinstance(api.http.get("/version").json()["version"], str)
    assert api.http.get("/get_model_info").json()["model_path"] == "tiny"
    assert api.http.get("/get_server_info").json()["max_model_len"] == MAX_MODEL_LEN
    models = api.http.get("/v1/models").json()
    assert models["object"] == "list"
    assert models["data"][0]["id"] == "tiny"
    assert models["data"][0]["max_model_len"] == MAX_MODEL_LEN
    assert api.http.get("/v1/models/tiny").json()["id"] == "tiny"
    assert error_of(api.http.get("/v1/models/nope"), 404)["code"] == "model_not_found"


def test_openai_client_lists_models(client):
    assert [model.id for model in client.models.list()] == ["tiny"]


def test_tokenize_is_what_the_prompt_costs(api):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße 世界 🎉"}]
    tokens = api.post("/tokenize", {"messages": messages}).json()
    answer = api.post("/v1/chat/completions", {"messages": messages, "max_tokens": 1}).json()
    assert answer["usage"]["prompt_tokens"] == tokens["count"] == len(tokens["tokens"])
    text = api.post("/detokenize", {"tokens": tokens["tokens"]}).json()["prompt"]
    assert "Be brief." in text and "Grüße 世界 🎉" in text


def test_routing_errors(api):
    assert error_of(api.post("/v1/x", {}), 404)
    response = api.http.get("/v1/chat/completions")
    error_of(response, 405)
    assert "POST" in response.headers["allow"]


def test_metrics_have_vllm_names(api):
    before = api.metric("vllm:generation_tokens_total")
    api.chat(max_tokens=5, ignore_eos=True)
    assert api.metric("vllm:generation_tokens_total") >= before + 5
    assert api.metric("vllm:num_requests_running") == 0
    assert api.metric("vllm:e2e_request_latency_seconds_count") >= 1


def test_cors(api):
    headers = {"Origin": "http://page", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "authorization,content-type"}
    preflight = api.http.options("/v1/chat/completions", headers=headers)
    assert preflight.status_code in (200, 204)
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
    for stream in (False, True):
        response = api.post("/v1/chat/completions", {**body, "stream": stream},
                            headers={"Origin": "http://page"})
        assert response.headers["access-control-allow-origin"] == "*"
