"""Schemas as applications write them, one idea each: (name, schema, valid documents, invalid documents)."""

STRING, INTEGER, NUMBER, BOOLEAN, NULL = ({"type": kind} for kind in ("string", "integer", "number", "boolean", "null"))


def obj(properties, required=None, **more):
    return {"type": "object", "properties": properties, "required": list(properties) if required is None else required,
            "additionalProperties": False, **more}


def array(items, **more):
    return {"type": "array", "items": items, **more}


NODE = {"$defs": {"node": obj({"value": INTEGER, "next": {"anyOf": [{"$ref": "#/$defs/node"}, NULL]}})},
        "$ref": "#/$defs/node"}
SHAPES = {"oneOf": [obj({"kind": {"const": "circle"}, "radius": NUMBER}), obj({"kind": {"const": "line"}, "to": INTEGER})]}
STEPS = obj({"steps": array(obj({"explanation": STRING, "output": STRING})), "final_answer": STRING})

CORPUS = [
    ("strict object", obj({"name": STRING, "age": INTEGER}), [{"name": "a", "age": 3}], [{"name": "a"}, {"name": 1, "age": 3}]),
    ("optional property", obj({"a": STRING, "b": INTEGER}, ["a"]), [{"a": "x"}, {"a": "x", "b": 1}], [{"b": 1}]),
    ("open object", {"type": "object", "properties": {"a": INTEGER}, "additionalProperties": True}, [{"a": 1, "z": "q"}, {}], [{"a": "x"}]),
    ("map of numbers", {"type": "object", "additionalProperties": NUMBER}, [{}, {"x": 1.5}], [{"x": "y"}]),
    ("any object", {"type": "object"}, [{}, {"a": [1]}], [[], 1]),
    ("anything", {}, [1, "x", None, [{}]], []),
    ("nested three deep", obj({"a": obj({"b": obj({"c": BOOLEAN})})}), [{"a": {"b": {"c": True}}}], [{"a": {"b": {}}}]),
    ("array of objects", array(obj({"id": INTEGER})), [[], [{"id": 1}, {"id": 2}]], [[{"id": "1"}]]),
    ("array with limits", array(INTEGER, minItems=1, maxItems=3), [[1], [1, 2, 3]], [[], [1, 2, 3, 4]]),
    ("tuple", {"type": "array", "prefixItems": [STRING, INTEGER], "items": False, "minItems": 2}, [["a", 1]], [["a"], [1, "a"]]),
    ("tuple of draft 7", {"type": "array", "items": [STRING, INTEGER], "additionalItems": False, "minItems": 2}, [["a", 1]], [["a", 1, 2]]),
    ("enum of strings", {"type": "string", "enum": ["red", "green"]}, ["red"], ["blue", 1]),
    ("enum of all types", {"enum": ["a", 1, 2.5, None, True]}, ["a", 1, 2.5, None, True], [False, "b"]),
    ("enum of objects", {"enum": [{"a": 1}, [1, 2]]}, [{"a": 1}, [1, 2]], [{"a": 2}]),
    ("const", {"const": "only"}, ["only"], ["other"]),
    ("const object", {"const": {"v": 1}}, [{"v": 1}], [{"v": 2}, {}]),
    ("nullable by list", {"type": ["string", "null"]}, ["x", None], [1]),
    ("nullable by anyOf", {"anyOf": [INTEGER, NULL]}, [1, None], ["x"]),
    ("nullable of OpenAPI", {"type": "string", "nullable": True}, ["x", None], [1]),
    ("union of scalars", {"anyOf": [STRING, INTEGER, BOOLEAN]}, ["x", 1, True], [None, 1.5]),
    ("tagged union", SHAPES, [{"kind": "circle", "radius": 1.5}, {"kind": "line", "to": 2}], [{"kind": "line", "radius": 1}]),
    ("union of objects", {"anyOf": [obj({"a": STRING}), obj({"b": INTEGER})]}, [{"a": "x"}, {"b": 1}], [{"c": 1}]),
    ("allOf of two objects", {"allOf": [{"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}, {"type": "object", "properties": {"b": STRING}, "required": ["b"]}]}, [{"a": 1, "b": "x"}], [{"a": 1}]),
    ("allOf of limits", {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 5}]}, [3, 5], [2, 6]),
    ("allOf with $ref", {"$defs": {"base": {"type": "object", "properties": {"id": INTEGER}, "required": ["id"]}}, "allOf": [{"$ref": "#/$defs/base"}], "properties": {"x": STRING}}, [{"id": 1}], [{}]),
    ("$ref to $defs", {"$defs": {"p": obj({"x": NUMBER})}, "type": "array", "items": {"$ref": "#/$defs/p"}}, [[{"x": 1}]], [[{"x": "1"}]]),
    ("$ref to definitions", {"definitions": {"p": INTEGER}, **obj({"v": {"$ref": "#/definitions/p"}})}, [{"v": 1}], [{"v": "x"}]),
    ("$ref beside keywords", {"$defs": {"s": STRING}, "$ref": "#/$defs/s", "maxLength": 2}, ["ab"], ["abc"]),
    ("$anchor", {"$defs": {"p": {"$anchor": "point", "type": "integer"}}, "$ref": "#point"}, [1], ["x"]),
    ("linked list", NODE, [{"value": 1, "next": {"value": 2, "next": None}}], [{"value": 1}]),
    ("tree by root", obj({"v": INTEGER, "kids": array({"$ref": "#"})}), [{"v": 1, "kids": [{"v": 2, "kids": []}]}], [{"v": 1, "kids": [{}]}]),
    ("steps of reasoning", STEPS, [{"steps": [{"explanation": "a", "output": "b"}], "final_answer": "c"}], [{"steps": []}]),
    ("integer range", {"type": "integer", "minimum": -3, "maximum": 120}, [-3, 0, 120], [-4, 121, 1.5]),
    ("exclusive range", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, [0.5, 0.001], [0, 1]),
    ("probability", {"type": "number", "minimum": 0, "maximum": 1}, [0, 0.25, 1], [-0.1, 1.1]),
    ("multipleOf 5", {"type": "integer", "multipleOf": 5}, [0, 15], [7]),
    ("multipleOf 0.01", {"type": "number", "multipleOf": 0.01}, [1.25, 3], [1.255]),
    ("multipleOf 0.5", {"type": "number", "multipleOf": 0.5}, [1.5, 3], [1.25]),
    ("lengths", {"type": "string", "minLength": 2, "maxLength": 4}, ["ab", "\u6f22\u5b57ab"], ["a", "abcde"]),
    ("pattern, anchored", {"type": "string", "pattern": "^[A-Z]{2}-\\d{4}$"}, ["AB-1234"], ["ab-1234", "AB-12345"]),
    ("pattern, found anywhere", {"type": "string", "pattern": "\\d"}, ["a1b"], ["abc"]),
    ("pattern with alternatives", {"type": "string", "pattern": "^(GET|POST) /\\w+$"}, ["GET /x"], ["PUT /x"]),
    ("pattern and length", {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}, ["abc"], ["abcd", "A"]),
    ("phone number", {"type": "string", "pattern": "^(\\([0-9]{3}\\))?[0-9]{3}-[0-9]{4}$"}, ["(888)555-1212"], ["5551212"]),
    ("date", {"type": "string", "format": "date"}, ["2024-02-29"], ["2024-13-01"]),
    ("date-time", {"type": "string", "format": "date-time"}, ["2024-01-02T03:04:05Z"], ["2024-01-02"]),
    ("time", {"type": "string", "format": "time"}, ["03:04:05Z"], ["25:00:00Z"]),
    ("duration", {"type": "string", "format": "duration"}, ["P3DT4H"], ["3 days"]),
    ("email", {"type": "string", "format": "email"}, ["a@b.org"], ["a.b.org"]),
    ("hostname", {"type": "string", "format": "hostname"}, ["a.example.com"], ["-a-"]),
    ("ipv4", {"type": "string", "format": "ipv4"}, ["127.0.0.1"], ["256.1.1.1"]),
    ("ipv6", {"type": "string", "format": "ipv6"}, ["fe80::1"], ["1:::2"]),
    ("uuid", {"type": "string", "format": "uuid"}, ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08"]),
    ("uri", {"type": "string", "format": "uri"}, ["https://example.com/a?b=c#d"], ["no uri"]),
    ("patternProperties", {"type": "object", "patternProperties": {"^x-": STRING}, "additionalProperties": False}, [{"x-a": "b"}, {}], [{"y": "b"}, {"x-a": 1}]),
    ("propertyNames", {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": INTEGER}, [{"ab": 1}], [{"A": 1}]),
    ("propertyNames from an enum", {"type": "object", "propertyNames": {"enum": ["p", "q"]}, "additionalProperties": INTEGER}, [{"p": 1}], [{"r": 1}]),
    ("minProperties", {"type": "object", "additionalProperties": INTEGER, "minProperties": 1}, [{"a": 1}], [{}]),
    ("maxProperties", {"type": "object", "additionalProperties": INTEGER, "maxProperties": 1}, [{"a": 1}], [{"a": 1, "b": 2}]),
    ("annotations", {"type": "string", "title": "T", "description": "d", "default": "x", "examples": ["y"], "$comment": "c", "deprecated": False}, ["x"], [1]),
    ("content of a string", {"type": "string", "contentMediaType": "application/json", "contentEncoding": "base64"}, ["e30="], [1]),
    ("boolean schemas", {"type": "object", "properties": {"a": True, "b": False}, "additionalProperties": False}, [{"a": 1}, {}], [{"b": 1}]),
    ("keys that need escapes", obj({"a\"b": INTEGER, "\u00e9 x": INTEGER}), [{"a\"b": 1, "\u00e9 x": 2}], [{"a\"b": 1}]),
    ("required without properties", {"type": "object", "required": ["a"], "additionalProperties": INTEGER}, [{"a": 1}], [{}]),
    ("long enum", {"enum": [f"item-{i}" for i in range(500)]}, ["item-499"], ["item-500"]),
    ("100 properties", obj({f"field_{i}": INTEGER for i in range(100)}, []), [{}, {"field_7": 1, "field_99": 2}], [{"field_7": "x"}]),
    ("if, then, else", {"type": "object", "properties": {"a": INTEGER}, "if": {"required": ["a"]}, "then": {"required": ["b"]}}, [{"a": 1, "b": 2}, {}], [{"a": 1}]),
    ("not", {"not": {"type": "string"}}, [1], ["x"]),
    ("uniqueItems", {"type": "array", "items": INTEGER, "uniqueItems": True}, [[1, 2]], [[1, 1]]),
    ("contains", {"type": "array", "contains": {"const": 5}}, [[1, 5]], [[1]]),
    ("dependentRequired", {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}, "dependentRequired": {"a": ["b"]}}, [{"a": 1, "b": 2}], [{"a": 1}]),
    ("oneOf that overlaps", {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]}, [1, 2.5], [3]),
    ("unevaluatedProperties", {"allOf": [{"properties": {"a": INTEGER}}], "unevaluatedProperties": False}, [{"a": 1}], [{"b": 1}]),
]
