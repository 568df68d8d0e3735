"""Recorded results in few lines."""

from __future__ import annotations

import json

import json_records


def test_a_record_is_a_line() -> None:
    value = {"a": {"first": {"passed": True}, "second": {"why": "x"}}, "b": {}, "c": [1, [2]]}
    text = json_records.dumps(value, 2)
    assert json.loads(text) == value
    assert text.splitlines() == [
        "{",
        ' "a": {',
        '  "first": {"passed": true},',
        '  "second": {"why": "x"}',
        " },",
        ' "b": {},',
        ' "c": [',
        "  1,",
        "  [2]",
        " ]",
        "}",
    ]
