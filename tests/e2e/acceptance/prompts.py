"""Prompts of our own for every intent of the acceptance checks, within what the bundled model can
do, and the tools that go with them."""

GREETINGS = ["Hello!", "Good morning, how are you?", "Hi there"]
SUMS = [("What is 12 plus 30?", "42"), ("What is the sum of 7 and 5?", "12"),
        ("How much is 25 + 17?", "42")]
TWO_AND_TWO = ["What is 2+2?", "How much is 2 + 2?"]
SUM_CHINESE = ["2+2等于几？只回答数字。", "请计算2+2，只输出数字"]
APPLES = [
    ("If Tom has 5 apples and eats 2 and then finds 8 more, how many apples does Tom have? "
     "Explain step by step.", "11"),
    ("Anna has 9 apples and buys 4 more, then gives 2 to Ben. How many apples does Anna have now? "
     "Think step by step.", "11"),
]
TRAINS = [
    ("Two trains leave stations 300 km apart and travel toward each other at 60 km/h and 90 km/h. "
     "When do they meet? Show your reasoning, then give the answer.", "2"),
    ("A train leaves Paris at 80 km/h and another leaves Rome at 70 km/h towards it. The cities "
     "are 450 km apart. After how many hours do they meet? Show your reasoning first, then answer.",
     "3"),
]
WEATHER = [("What is the weather in Beijing?", "Beijing"),
           ("How is the weather in Beijing today?", "Beijing"),
           ("Please check the weather for Beijing.", "Beijing")]
STORIES = ["Tell me a short story.", "Write a short story about a cat."]
MARKERS = ["Reply with exactly the text: {}", "Repeat exactly: {}", "Echo the marker: {}"]
SYSTEM_MARKERS = ["Always answer with the marker {}.", "You must always reply with: {}"]
SECRETS = [
    ("My secret code is {}. Please remember it.", "Okay, I will remember it.",
     "What is my secret code?"),
    ("The password is {}.", "Got it.", "Tell me the password."),
]
COUNT_TO_FIVE = ["Count to five.", "Count from 1 to 5"]
COUNT_TO_THIRTY = ["Count from 1 to 30, separated by spaces.",
                   "List the numbers from 1 to 30 separated by spaces."]
ONE_WORD_HELLO = ["Say hello in one word.", "Give me a one-word hello."]
ECHO = ["Repeat exactly: {}", "Say exactly: {}"]


def weather_tool(name="get_weather", key="city"):
    return tool(name, {key: {"type": "string", "description": "City name"}}, [key],
                "Get the current weather for a city")


def tool(name, properties, required=(), description="", **fields):
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description,
                                             "parameters": parameters, **fields}}


def call(name, arguments, identity="call_1", **fields):
    """A tool call of an assistant message in a history."""
    return {"id": identity, "type": "function",
            "function": {"name": name, "arguments": arguments}, **fields}


def weather_turn(result, arguments='{"city": "Beijing"}', assistant=None, **fields):
    """The history of one call: question, call, result."""
    return [{"role": "user", "content": "What is the weather in Beijing?"},
            {"role": "assistant", "content": None,
             "tool_calls": [call("get_weather", arguments, **fields)], **(assistant or {})},
            {"role": "tool", "tool_call_id": "call_1", "content": result}]
