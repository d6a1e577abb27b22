// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "lexformer/core/error.hpp"

namespace lexformer::test {

/// The message of the Error that body() throws; "no error" if it throws none.
template <class Body>
std::string error_message(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace lexformer::test
