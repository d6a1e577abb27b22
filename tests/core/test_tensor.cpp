// SPDX-License-Identifier: MIT
#include "lexformer/core/tensor.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>
#include <type_traits>
#include <vector>

#include "../support/error_message.hpp"
#include "../support/far_device.hpp"
#include "lexformer/core/random.hpp"

using namespace lexformer;
using test::error_message;

TEST_CASE("the kind of an error is the exit code of a program") {
  const auto code = [](auto&& body) {
    try {
      body();
    } catch (const Error& e) {
      return e.exit_code();
    }
    return 0;
  };
  CHECK(code([] { fail("here", "x"); }) == 1);
  CHECK(code([] { fail_usage("here", "x"); }) == 2);
  CHECK(code([] { fail_file("here", "x"); }) == 3);
  CHECK(code([] { fail_numeric("here", "x"); }) == 4);
  CHECK(error_message([] { fail("here", "expected ", 2, ", found ", 1.5); }) == "here: expected 2, found 1.5");
}

TEST_CASE("touch: tells of a change through a kept pointer") {
  auto t = Tensor<float>::zeros({2});
  float* const kept = t.mutable_data();
  const auto version = t.version();
  kept[0] = 1;
  CHECK(t.version() == version);
  t.slice(1, 2).touch();  // the version is that of the memory
  CHECK(t.version() == version + 1);
  CHECK(error_message([] { Tensor<float>().touch(); }).find("the tensor is undefined") != std::string::npos);
}

TEST_CASE("Shape: sizes, rows, equality, printing") {
  const Shape scalar, vector{5}, matrix{2, 3}, cube{2, 3, 4}, empty{0, 3};
  CHECK(scalar.rank() == 0);
  CHECK(scalar.size() == 1);
  CHECK(scalar.last() == 1);
  CHECK(scalar.rows() == 1);
  CHECK(vector.rows() == 1);
  CHECK(vector.last() == 5);
  CHECK(cube.size() == 24);
  CHECK(cube.rows() == 6);
  CHECK(cube[1] == 3);
  CHECK(empty.size() == 0);
  CHECK(cat(scalar, vector, matrix, cube, empty) == "()(5,)(2, 3)(2, 3, 4)(0, 3)");
  CHECK(matrix == Shape{2, 3});
  CHECK_FALSE(matrix == Shape{3, 2});
  CHECK_FALSE(Shape{} == Shape{1});
  CHECK_FALSE(Shape{2, 3} == Shape{2, 3, 1});
  const std::vector<int> dims{4, 5};
  CHECK(Shape(dims.begin(), dims.end()) == Shape{4, 5});
}

TEST_CASE("Shape: eight axes at most, and a number of elements that can be counted") {
  CHECK(Shape{1, 1, 1, 1, 1, 1, 1, 2}.size() == 2);
  CHECK(error_message([] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }) == "Shape: rank is more than 8");
  const std::size_t big = std::size_t{1} << 32;
  CHECK(Shape{big, big / 2}.size() == std::size_t{1} << 63);
  CHECK(error_message([=] { Shape{big, big}; }) == "Shape: number of elements overflows: (4294967296, 4294967296)");
  CHECK_THROWS_AS(Tensor<std::int8_t>({std::size_t{1} << 63}), std::bad_alloc);
  // The number of elements does not overflow, but the number of bytes does.
  CHECK(error_message([=] { Tensor<double>({big, big / 4}); }) == "Tensor: 4611686018427387904 elements do not fit into memory");
}

TEST_CASE("Tensor: making one and reading it") {
  CHECK(Tensor<>::zeros({2, 3}).to_vector() == std::vector<float>(6, 0.0f));
  CHECK(Tensor<double>::ones({2}).to_vector() == std::vector<double>{1, 1});
  CHECK(Tensor<int>::full({2}, 7).to_vector() == std::vector<int>{7, 7});
  CHECK(Tensor<>::scalar(4.0f).item() == 4.0f);
  CHECK(Tensor<>::scalar(4.0f).rank() == 0);
  CHECK(Tensor<>::scalar(4.0f).at() == 4.0f);
  CHECK(Tensor<>::zeros({0, 3}).size() == 0);
  CHECK(Tensor<>::zeros({0, 3}).defined());
  const auto t = Tensor<>::from({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(t.at(0, 2) == 3.0f);
  CHECK(t.at(1, 0) == 4.0f);
  CHECK(t.dim(1) == 3);
  CHECK(t.span().size() == 6);
  CHECK(Tensor<>::from({1, 2}).shape() == Shape{2});
  CHECK(reinterpret_cast<std::uintptr_t>(t.data()) % Memory<Cpu>::alignment == 0);
  const std::vector<float> values{1, 2, 3};
  const auto copied = Tensor<>::from(values, {3, 1});
  CHECK(copied.to_vector() == values);
  CHECK(copied.data() != values.data());
  CHECK(std::is_same_v<accumulate_t<float>, float>);
  CHECK(std::is_same_v<Tensor<>, Tensor<float, Cpu>>);
}

TEST_CASE("Tensor: what does not fit is refused") {
  const auto t = Tensor<>::from({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(error_message([&] { t.at(2, 0); }) == "Tensor::at: index 2 of axis 0 is outside shape (2, 3)");
  CHECK(error_message([&] { t.at(0, 3); }) == "Tensor::at: index 3 of axis 1 is outside shape (2, 3)");
  CHECK(error_message([&] { t.at(1); }) == "Tensor::at: got 1 indices for shape (2, 3)");
  CHECK(error_message([&] { t.at(1, 1, 1); }) == "Tensor::at: got 3 indices for shape (2, 3)");
  CHECK(error_message([&] { t.at(-1, 0); }) == "Tensor::at: index 18446744073709551615 of axis 0 is outside shape (2, 3)");
  CHECK(error_message([&] { t.dim(2); }) == "Tensor::dim: axis 2 is out of range for shape (2, 3)");
  CHECK(error_message([&] { t.item(); }) == "Tensor::item: shape (2, 3) does not have exactly one element");
  CHECK(error_message([&] { t.reshape({4, 2}); }) == "Tensor::reshape: cannot reshape (2, 3) to (4, 2): the numbers of elements differ");
  CHECK(error_message([&] { t.slice(1, 3); }) == "Tensor::slice: rows 1 to 3 are out of range for shape (2, 3)");
  CHECK(error_message([&] { t.slice(2, 1); }) == "Tensor::slice: rows 2 to 1 are out of range for shape (2, 3)");
  CHECK(error_message([&] { Tensor<>::scalar(1).slice(0, 0); }) == "Tensor::slice: rows 0 to 0 are out of range for shape ()");
  CHECK(error_message([] { Tensor<>::from({1, 2, 3}, {2, 2}); }) == "Tensor::from: 3 values for shape (2, 2), which needs 4");
}

TEST_CASE("Tensor: a view has the same memory as elements of another type") {
  auto bytes = Tensor<std::uint8_t>::zeros({20});
  auto words = bytes.view<std::uint16_t>(4, {2, 3});
  CHECK(words.shape() == Shape{2, 3});
  words.mutable_data()[1] = 0x0201;
  CHECK(bytes.at(6) == 1);
  CHECK(bytes.at(7) == 2);
  CHECK(bytes.version() == words.version());
  CHECK_FALSE(bytes.unique());
  CHECK(words.slice(1, 2).view<std::uint8_t>(0, {6}).data() == bytes.data() + 10);
  CHECK(bytes.view<std::uint64_t>(16, {0}).size() == 0);
  CHECK(bytes.slice(1, 20).view<std::uint32_t>(3, {2}).data() == static_cast<const void*>(bytes.data() + 4));
  CHECK(error_message([&] { bytes.slice(1, 20).view<std::uint32_t>(0, {2}); }).starts_with("Tensor::view: the elements from 0 on "));
  CHECK(error_message([&] { Tensor<std::uint8_t>().view<std::uint16_t>(0, {0}); }).starts_with("Tensor::view: "));
  CHECK(error_message([&] { bytes.view<std::uint16_t>(3, {2}); }) ==
        "Tensor::view: the elements from 3 on of shape (20,) do not hold shape (2,) of the other type");
  for (const std::size_t begin : {std::size_t{16}, std::size_t{20}, std::size_t{24}})
    CHECK(error_message([&] { bytes.view<std::uint64_t>(begin, {1}); }).starts_with("Tensor::view: the elements from "));
}

TEST_CASE("Tensor: an undefined one stands for no value") {
  Tensor<> none;
  CHECK_FALSE(none.defined());
  CHECK(none.size() == 0);
  CHECK(none.data() == nullptr);
  CHECK(none.to_vector().empty());
  CHECK(none.version() == 0);
  CHECK_FALSE(none.clone().defined());
  CHECK_FALSE(none.shares_storage(Tensor<>()));
  CHECK(cat(none) == "Tensor(undefined)");
  CHECK(error_message([&] { none.mutable_data(); }) == "Tensor::mutable_data: the tensor is undefined");
  CHECK(error_message([&] { none.item(); }) == "Tensor::item: shape () does not have exactly one element");
  CHECK(error_message([&] { none.at(); }) == "Tensor::at: the tensor is undefined");
}

TEST_CASE("Tensor: copies, reshapes and rows share the elements, clone() does not") {
  auto t = Tensor<>::from({1, 2, 3, 4, 5, 6}, {3, 2});
  CHECK(t.unique());
  auto copy = t;
  auto flat = t.reshape({6});
  auto tail = t.slice(1, 3);
  auto own = t.clone();
  CHECK_FALSE(t.unique());
  CHECK(t.shares_storage(tail));
  CHECK_FALSE(t.shares_storage(own));
  CHECK(tail.shape() == Shape{2, 2});
  CHECK(tail.to_vector() == std::vector<float>{3, 4, 5, 6});
  CHECK(tail.slice(1, 2).to_vector() == std::vector<float>{5, 6});
  CHECK(tail.slice(1, 1).size() == 0);
  CHECK(tail.reshape({4}).at(3) == 6.0f);
  CHECK(tail.clone().to_vector() == tail.to_vector());
  CHECK(Tensor<>::zeros({0, 3}).slice(0, 0).shape() == Shape{0, 3});
  tail.mutable_data()[0] = 30;
  CHECK(t.at(1, 0) == 30.0f);
  CHECK(copy.at(1, 0) == 30.0f);
  CHECK(flat.at(2) == 30.0f);
  CHECK(own.at(1, 0) == 3.0f);
}

TEST_CASE("Tensor: writing through any view counts the version of all of them up; reading does not") {
  auto t = Tensor<>::zeros({4, 2});
  auto part = t.slice(2, 4);
  const auto before = t.version();
  CHECK(part.version() == before);
  t.at(0, 0);
  t.span();
  t.to_vector();
  CHECK(t.version() == before);
  part.mutable_span()[0] = 1;
  CHECK(t.version() == before + 1);
  t.mutable_data();
  CHECK(part.version() == before + 2);
  CHECK(t.clone().version() != 0);  // has its own version
  CHECK(t.version() == before + 2);
}

TEST_CASE("Tensor: printing") {
  CHECK(cat(Tensor<>::scalar(1.5f)) == "1.5 shape ()");
  CHECK(cat(Tensor<>::from({1, 2, 3})) == "[1, 2, 3] shape (3,)");
  CHECK(cat(Tensor<>::from({1, 2, 3, 4}, {2, 2})) == "[[1, 2],\n [3, 4]] shape (2, 2)");
  CHECK(cat(Tensor<>::from({1, 2, 3, 4}, {2, 1, 2})) == "[[[1, 2]],\n [[3, 4]]] shape (2, 1, 2)");
  CHECK(cat(Tensor<>::zeros({0})) == "[] shape (0,)");
  CHECK(cat(Tensor<>::zeros({2, 0})) == "[[],\n []] shape (2, 0)");
  CHECK(cat(Tensor<std::int8_t>::from({65, -1})) == "[65, -1] shape (2,)");
  CHECK(cat(Tensor<double>::from({1.0 / 3, 1e-20, 123456789})) == "[0.333333, 1e-20, 1.23457e+08] shape (3,)");
  CHECK(cat(Tensor<>::from({1, 2, 3, 4, 5, 6}, {3, 2}).slice(1, 2)) == "[[3, 4]] shape (1, 2)");
}

TEST_CASE("Tensor: of a long axis the ends are printed, and the stream is left as it was") {
  std::vector<float> values(100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  CHECK(cat(Tensor<>::from(std::span(values).first(8), {8})) == "[0, 1, 2, 3, 4, 5, 6, 7] shape (8,)");
  CHECK(cat(Tensor<>::from(std::span(values).first(9), {9})) == "[0, 1, 2, ..., 6, 7, 8] shape (9,)");
  CHECK(cat(Tensor<>::from(values, {100})) == "[0, 1, 2, ..., 97, 98, 99] shape (100,)");
  CHECK(cat(Tensor<>::from(values, {50, 2})) == "[[0, 1],\n [2, 3],\n [4, 5],\n ...,\n [94, 95],\n [96, 97],\n [98, 99]] shape (50, 2)");
  std::ostringstream out;
  out.precision(12);
  out << Tensor<double>::from({1.0 / 3}) << ' ' << 1.0 / 3;
  CHECK(out.str() == "[0.333333] shape (1,) 0.333333333333");
}

TEST_CASE("memory: what lives is counted, and a freed block serves again") {
  const auto before = Memory<Cpu>::in_use();
  [[maybe_unused]] const void* first = nullptr;  // used if the block cache is on
  {
    const auto t = Tensor<>::zeros({1000, 1000});
    first = t.data();
    CHECK(Memory<Cpu>::in_use() >= before + 4000000);
    CHECK(Memory<Cpu>::in_use() < before + 4100000);
    CHECK(Memory<Cpu>::peak() >= Memory<Cpu>::in_use());
  }
  CHECK(Memory<Cpu>::in_use() == before);
  CHECK(Memory<Cpu>::peak() >= before + 4000000);
#if !defined(LEXFORMER_NO_BLOCK_CACHE)
  CHECK(Tensor<>({1000, 700}).data() == first);  // the best fit, cut to size
#endif
  Memory<Cpu>::trim();
  CHECK(Tensor<>::ones({1000, 1000}).at(999, 999) == 1.0f);
  CHECK(Memory<Cpu>::in_use() == before);
  Memory<Cpu>::reset_peak();
  CHECK(Memory<Cpu>::peak() == before);
}

#if !defined(LEXFORMER_NO_BLOCK_CACHE) && defined(__linux__)
TEST_CASE("memory: trim() gives free segments back to the system") {
  const auto resident = [] {  // bytes in memory of this process
    std::size_t all = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> all >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  };
  const std::size_t bytes = std::size_t{1} << 28;
  { const auto t = Tensor<>::ones({bytes / 4}); }
  const std::size_t kept = resident();
  Memory<Cpu>::trim();
  CHECK(resident() + bytes / 2 < kept);
  CHECK(Tensor<>::ones({bytes / 4}).at(bytes / 4 - 1) == 1.0f);  // in a new segment
}
#endif

TEST_CASE("memory: blocks of many sizes, given and freed in any order, never overlap and join again") {
  const auto before = Memory<Cpu>::in_use();
  RandomStream random(3, random_site::user);
  std::vector<Tensor<>> live;
  const auto intact = [](const Tensor<>& t) {  // each element equals the next; memcmp is fast also where this file is not optimised
    return std::memcmp(t.data(), t.data() + 1, (t.size() - 1) * sizeof(float)) == 0;
  };
  for (int turn = 0; turn < 2000; ++turn) {
    if (live.size() > 20 || (!live.empty() && random.below(2) == 0)) {
      const auto i = static_cast<std::ptrdiff_t>(random.below(live.size()));
      REQUIRE(intact(live[static_cast<std::size_t>(i)]));
      live.erase(live.begin() + i);
    } else {
      const std::size_t size = 1 + static_cast<std::size_t>(random.below(turn % 10 == 0 ? 12000000 : 60000));
      live.push_back(Tensor<>::full({size}, static_cast<float>(turn)));
    }
  }
  for (const auto& t : live) CHECK(intact(t));
  live.clear();
  CHECK(Memory<Cpu>::in_use() == before);
  CHECK_THROWS(Tensor<>({(std::size_t{1} << 62) - (std::size_t{1} << 18)}));
#if !defined(LEXFORMER_NO_BLOCK_CACHE)
  Memory<Cpu>::trim();
  for (std::size_t size = 10000000; size < 20000000; size += 1000000) const Tensor<> growing({size});
  const Tensor<> half({4000000});
  const void* first = half.data();
  { const Tensor<> rest({4000000}), small({100000}); }
  CHECK(Tensor<>({4100000}).data() == static_cast<const float*>(first) + 4000000 / 1024 * 1024 + 1024);  // both free blocks were merged
#endif
}

TEST_CASE("a tensor goes to another device and comes back; there only its elements can be fetched") {
  const auto x = Tensor<float>::from({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto far = x.to<Far>();
  CHECK(far.shape() == x.shape());
  CHECK(far.to_vector() == x.to_vector());
  CHECK(far.at(1, 2) == 6);
  CHECK(far.slice(1, 2).clone().to<Cpu>().to_vector() == std::vector<float>{4, 5, 6});
  CHECK(Tensor<float, Far>::scalar(7).item() == 7);
  CHECK(Tensor<int, Far>::zeros({2}).to_vector() == std::vector<int>{0, 0});
  CHECK(Tensor<double, Far>::full({2}, 0.5).to_vector() == std::vector<double>{0.5, 0.5});
  CHECK(x.to<Cpu>().shares_storage(x));
  CHECK_FALSE(Tensor<float, Far>().to<Cpu>().defined());
  CHECK_FALSE(std::is_invocable_v<decltype([](auto& t) -> decltype(t.span()) { return t.span(); }), Tensor<float, Far>&>);
}

TEST_CASE("assign overwrites the elements where they are") {
  auto x = Tensor<float>::zeros({2, 2});
  const auto shared = x;
  x.slice(1, 2).assign(std::vector<float>{3, 4});
  CHECK(shared.to_vector() == std::vector<float>{0, 0, 3, 4});
  CHECK(shared.version() == x.version());
  CHECK(error_message([&] { x.assign(std::vector<float>{1}); }) == "Tensor::assign: 1 values for shape (2, 2), which needs 4");
}
