// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "lexformer/core/error.hpp"

/// Calls `body`, which must throw an Error of this kind whose message is one line of ASCII and contains `part`.
template <class Body>
void expect_error(lexformer::ErrorKind kind, Body&& body, const std::string& part) {
  INFO("expected: ", part);
  try {
    body();
  } catch (const lexformer::Error& error) {
    const std::string message = error.what();
    INFO("found: ", message);
    CHECK(error.kind() == kind);
    CHECK(message.find(part) != std::string::npos);
    for (const char c : message) REQUIRE((c >= 0x20 && c < 0x7F));
    return;
  }
  FAIL_CHECK("no error");
}
template <class Body>
void expect_file_error(Body&& body, const std::string& part) {
  expect_error(lexformer::ErrorKind::file, body, part);
}

/// A new folder that is removed with this object.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lexformer-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
  std::filesystem::path path;
};
