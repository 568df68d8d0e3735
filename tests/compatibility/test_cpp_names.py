"""Public names of headers, read without a compiler."""

from __future__ import annotations

from pathlib import Path

from workbench.compatibility import full, public_names


def test_names_are_read(tmp_path: Path) -> None:
    (tmp_path / "some.cuh").write_text(
        """
        #define MACRO 1
        #if 0
        struct off {};
        #endif
        namespace a { namespace b {
        template <typename T, int n = (1 > 0)> struct alignas(16) klass {
            using type = T; static constexpr int one = 1, two = 2; T data[n];
            __device__ inline klass(T value) : data{value} {}
            template <int axis> __device__ T get() const { return data[axis < n ? axis : 0]; }
            operator int() const; T &operator[](int);
          private:
            int hidden;
        };
        template <> struct klass<int> { int other; };
        template <> inline float klass<float>::get<0>() const { return 0; }
        namespace detail { void inside(); }
        }
        typedef int number __attribute__((mode(SI)));
        template <typename T> concept all = requires { T::x; };
        enum class kind { first }; struct forward; // struct commented {};
        }
        """
    )
    names = {(full(n), n.kind) for n in public_names(tmp_path)}
    assert names == {
        ("MACRO", "macro"),
        ("a::b::klass", "type"),
        ("a::b::klass::type", "type"),
        ("a::b::klass::one", "constant"),
        ("a::b::klass::two", "constant"),
        ("a::b::klass::data", "variable"),
        ("a::b::klass::get", "function"),
        ("a::b::klass::operator[]", "function"),
        ("a::b::klass::other", "variable"),
        ("a::number", "type"),
        ("a::all", "concept"),
        ("a::kind", "type"),
    }
