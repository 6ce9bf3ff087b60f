// The message of the Error that a piece of code throws, for tests that check wording.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace powerinfer::test {

/// "(no error)" when nothing is thrown. Exceptions of other kinds pass through and fail the test.
inline std::string message_of(const std::function<void()>& f) {
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "(no error)";
}

}  // namespace powerinfer::test
