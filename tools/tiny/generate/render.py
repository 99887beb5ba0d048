"""Write a Sample as the chat template does, marking which pieces the model has to produce."""

import json

from .pictures import IMAGE_MARK, patches

TOOLS_HEAD = "# Tools\n\nYou have access to the following functions:\n\n<tools>"
TOOLS_TAIL = (
    "\n</tools>\n\nIf you choose to call a function ONLY reply in the following format with NO suffix:\n\n"
    "<tool_call>\n<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n</parameter>\n"
    "<parameter=example_parameter_2>\nThis is the value for the second parameter\nthat can span\nmultiple lines\n</parameter>\n"
    "</function>\n</tool_call>\n\n<IMPORTANT>\nReminder:\n"
    "- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within <tool_call></tool_call> XML tags\n"
    "- Required parameters MUST be specified\n"
    "- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after\n"
    "- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls\n"
    "</IMPORTANT>"
)
CONTEXT, HISTORY, ANSWER = 0, 1, 2


def call_text(calls, after_content):
    """The XML of tool calls."""
    texts = []
    for name, arguments in calls:
        body = "".join(f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}\n</parameter>\n" for key, value in arguments.items())
        texts.append(f"<tool_call>\n<function={name}>\n{body}</function>\n</tool_call>")
    return ("\n\n" if after_content and texts else "") + "\n".join(texts)


def last_query(messages):
    """Index of the last user message."""
    return max(index for index, message in enumerate(messages) if message.role == "user")


def user_text(message, images):
    """Content with its image marks expanded to placeholders; patches are appended to `images`."""
    text = message.content.strip()
    for image in message.images:
        rows, grid = patches(image)
        images.append((rows, grid))
        text = text.replace(IMAGE_MARK, "<|vision_start|>" + "<|image_pad|>" * (len(rows) // 4) + "<|vision_end|>", 1)
    return text


def segments(sample, complete=True):
    """Return ([(text, kind)], images). Without `complete` the text ends with the generation prompt of the last answer."""
    messages, pieces, images = sample.messages, [], []

    def add(text, kind=CONTEXT):
        if pieces and pieces[-1][1] == kind:
            pieces[-1][0].append(text)
        else:
            pieces.append(([text], kind))

    if not complete:
        messages = messages[:-1]
    system = messages[0].content.strip() if messages[0].role == "system" else None
    if sample.tools:
        add("<|im_start|>system\n" + TOOLS_HEAD + "".join("\n" + json.dumps(tool, ensure_ascii=False) for tool in sample.tools) + TOOLS_TAIL + (f"\n\n{system}" if system else "") + "<|im_end|>\n")
    elif system is not None:
        add(f"<|im_start|>system\n{system}<|im_end|>\n")
    query = last_query(messages)
    for index, message in enumerate(messages):
        if message.role == "user":
            add(f"<|im_start|>user\n{user_text(message, images)}<|im_end|>\n")
        elif message.role == "assistant":
            content = message.content.strip()
            body = content + call_text(message.calls, content) + "<|im_end|>"
            add("<|im_start|>assistant\n")
            if index > query or sample.preserve:
                if sample.thinking:
                    add("<think>\n")
                    add(f"{message.think}\n</think>\n\n{body}", ANSWER)
                else:
                    add("<think>\n\n</think>\n\n")
                    add(body, ANSWER)
            else:
                add(body, HISTORY)
            add("\n")
        elif message.role == "tool":
            if messages[index - 1].role != "tool":
                add("<|im_start|>user")
            add(f"\n<tool_response>\n{message.content.strip()}\n</tool_response>")
            if index + 1 == len(messages) or messages[index + 1].role != "tool":
                add("<|im_end|>\n")
    if not complete:
        add("<|im_start|>assistant\n" + ("<think>\n" if sample.thinking else "<think>\n\n</think>\n\n"))
    return [("".join(texts), kind) for texts, kind in pieces], images


def openai_messages(sample):
    """The messages before the last answer in the form of the HTTP API, images as PIL objects under the key `image`."""
    result = []
    for number, message in enumerate(sample.messages[:-1]):
        if message.role == "user" and message.images:
            parts, images = [], iter(message.images)
            pieces = message.content.strip().split(IMAGE_MARK)
            for index, piece in enumerate(pieces):
                if piece:
                    parts.append({"type": "text", "text": piece})
                if index + 1 < len(pieces):
                    parts.append({"type": "image", "image": next(images)})
            result.append({"role": "user", "content": parts})
        elif message.role == "assistant":
            entry = {"role": "assistant", "content": message.content}
            if sample.thinking and message.think:
                entry["reasoning_content"] = message.think
            if message.calls:
                entry["tool_calls"] = [{"id": f"call_{number}_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}} for index, (name, arguments) in enumerate(message.calls)]
            result.append(entry)
        elif message.role == "tool":
            before = number
            while sample.messages[before].role == "tool":
                before -= 1
            result.append({"role": "tool", "tool_call_id": f"call_{before}_{number - before - 1}", "content": message.content})
        else:
            result.append({"role": message.role, "content": message.content})
    return result
