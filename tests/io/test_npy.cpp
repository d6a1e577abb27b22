// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>

#include "lexformer/io/npy.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {
std::string npy(const std::string& header, const std::string& data, const std::string& version = std::string("\x01\0", 2)) {
  return "\x93NUMPY" + version + static_cast<char>(header.size() & 0xFF) + static_cast<char>(header.size() >> 8) + header + data;
}
}  // namespace

TEST_CASE("npy: the bytes of numpy.save, and back") {
  const TemporaryFolder folder;
  const auto a = Tensor<float>::from({1.5f, -2, 3, 4, 5, 0.1f}, {2, 3});
  save_npy(folder / "a.npy", a);
  const std::string bytes = read_file(folder / "a.npy");
  // numpy 2.4.6: numpy.save(f, numpy.array([[1.5, -2, 3], [4, 5, .1]], 'f4')): this text, spaces up to byte 127, a line feed
  std::string expected = std::string("\x93NUMPY\x01\0v\0", 10) + "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.resize(127, ' ');
  CHECK(bytes.substr(0, 128) == expected + "\n");
  CHECK(bytes.size() == 152);
  CHECK(load_npy<float>(folder / "a.npy").shape() == Shape{2, 3});
  CHECK(load_npy<float>(folder / "a.npy").to_vector() == a.to_vector());
  CHECK(load_npy<double>(folder / "a.npy").at(0, 1) == -2);
  save_npy(folder / "b.npy", Tensor<double>::from({0.1, -3}));
  CHECK(load_npy<float>(folder / "b.npy").to_vector() == std::vector<float>{0.1f, -3});
  expect_error(
      ErrorKind::failure, [&] { save_npy(folder / "b.npy", Tensor<float>()); }, "b.npy: the tensor is undefined");
  const Tensor<double> shapes[] = {Tensor<double>::scalar(7.25), Tensor<double>::zeros({3}), Tensor<double>(Shape{0, 5}),
                                   Tensor<double>::ones({1, 1, 1, 1, 1, 1, 1, 2})};
  for (const auto& t : shapes) {
    save_npy(folder / "b.npy", t);
    CHECK(read_file(folder / "b.npy").size() == 128 + t.size() * 8);
    CHECK(load_npy<double>(folder / "b.npy").shape() == t.shape());
    CHECK(load_npy<double>(folder / "b.npy").to_vector() == t.to_vector());
  }
}

TEST_CASE("npy: damaged and foreign files") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& bytes, const std::string& part) {
    write_file_atomic(folder / "x.npy", bytes);
    expect_file_error([&] { load_npy<float>(folder / "x.npy"); }, "x.npy: " + part);
  };
  const auto header = [](const std::string& shape) { return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n"; };
  const std::string good = npy(header("(1,)"), "1234");
  write_file_atomic(folder / "x.npy", good);
  CHECK(load_npy<float>(folder / "x.npy").size() == 1);
  for (const std::size_t bytes : {255u, 256u, 65535u}) {  // other writers may pad the header like this
    std::string wide = header("(1,)");
    wide.insert(wide.size() - 1, bytes - wide.size(), ' ');
    write_file_atomic(folder / "x.npy", npy(wide, std::string("\0\0\x80\x3F", 4)));
    CHECK(load_npy<float>(folder / "x.npy").to_vector() == std::vector<float>{1});
  }
  for (std::size_t n = 0; n < good.size(); ++n) refused(good.substr(0, n), "");
  refused(good + "5", "has 5 bytes of data, the shape needs 4");
  refused(npy(header("(1,)"), "1234", std::string("\x02\0", 2)), "is a .npy file of version 2.0, expected 1.0");
  refused(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", "12345678"), "holds '<i8', expected '<f4' or '<f8'");
  refused(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "1234"), "holds");
  refused(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "1234"), "is not in C order");
  refused(npy("{'descr': '<f4', 'shape': (1,), }", "1234"), "the header has no fortran_order");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': 1, }", "1234"), "the header is damaged at shape");
  refused(npy("{'fortran_order': False, 'shape': (1,), 'descr': '<f4'", "1234"), "the header is damaged at descr");
  refused(npy(header("()") + " ", "1234 "), "has 5 bytes of data, the shape needs 4");
  refused(npy(header("(1,,)"), "1234"), "the shape '(1,,)' is not possible");
  refused(npy(header("(-1,)"), "1234"), "the shape '(-1,)' is not possible");
  refused(npy(header("(1.0,)"), "1234"), "the shape '(1.0,)' is not possible");
  refused(npy(header("(4294967296, 4294967296, 4294967296)"), ""), "the shape '(4294967296,4294967296,4294967296)' is not possible");
  refused(npy(header("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "1234"), "the shape");
  refused(npy(header("(1099511627776,)"), ""), "has 0 bytes of data");
}
