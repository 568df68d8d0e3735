"""Demangled names and their parts."""

from __future__ import annotations

import pytest

from workbench.codeobject.names import demangle, instance_name, names_of, normal_name, short_name


@pytest.mark.parametrize(
    ("demangled", "instance", "short"),
    [
        ("plain_c_name", "plain_c_name", "plain_c_name"),
        ("add.kd", "add", "add"),
        ("scale(float*, float, int)", "scale", "scale"),
        ("void add<float>(float const*, float*)", "add<float>", "add"),
        ("void a::rms<gl<float, 1>, 4>(float*, int)", "a::rms<gl<float, 1>, 4>", "rms"),
        (
            "void ns::k<4, true, (ns::E)1>(std::function<void (int)>, int (*)(float))",
            "ns::k<4, true, (ns::E)1>",
            "k",
        ),
        ("(anonymous namespace)::k(int)", "(anonymous namespace)::k", "k"),
        ("void (anonymous namespace)::k<a::b>(int)", "(anonymous namespace)::k<a::b>", "k"),
        ("void tile<a::b>::run<4>(int)", "tile<a::b>::run<4>", "run"),
        ("void k<main::{lambda(int)#1}>({lambda(int)#1})", "k<main::{lambda(int)#1}>", "k"),
    ],
)
def test_parts(demangled: str, instance: str, short: str) -> None:
    assert instance_name(demangled) == instance
    assert short_name(demangled) == short


def test_names_that_a_person_may_give() -> None:
    assert names_of("_Zx", "void ns::k<float, 4u, (bool)1>(int)") == (
        "_Zx",
        "ns::k<float,4,1>",
        "k<float,4,1>",
        "k",
    )
    assert normal_name("add< kittens::bf16 >") == normal_name("add<__hip_bfloat16>") == "add<bf16>"
    assert normal_name("fill<_Float16, 16ul>") == normal_name("fill<half,16>")


def test_demangling() -> None:
    assert demangle("plain") == "plain"
    assert demangle("_Z1kPfi") in ("k(float*, int)", "_Z1kPfi")
    if demangle("_Z1kPfi") == "k(float*, int)":
        # GCC's library before version 13 does not know the first, and misreads the second.
        assert demangle("_Z3f16PKDF16_S0_Pf") == "f16(_Float16 const*, _Float16 const*, float*)"
        assert short_name(demangle("_Z4fillILi16EDF16bEvPT0_PKS0_")) == "fill"
        assert demangle("_Z1kPDF16bDv4_DF16_") == "k(__bf16*, _Float16 __vector(4))"
        assert demangle("_ZN6DF16_x1kIDF16_Lj16EEEvT_") == "void DF16_x::k<_Float16, 16u>(_Float16)"
