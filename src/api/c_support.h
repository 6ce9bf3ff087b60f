// What every function of the C API does: exceptions become values, pointers and struct sizes are checked, results are
// copied out. Not for anybody outside this room.
#pragma once

#include <powerinfer/powerinfer.h>
#include <powerinfer/powerinfer_c.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

struct powerinfer_model {
    powerinfer::Model model;
    std::string activation;
    std::vector<std::string> keys;
};

struct powerinfer_session {
    powerinfer::Session session;
    std::string isa, sparsity, plan;
    powerinfer::Generation last;
};

struct powerinfer_sampler {
    powerinfer::Sampler sampler;
};

namespace powerinfer::api {

/// An exception that left a callback of the user.
struct CallbackFailed {
    std::string sentence;
};

/// Fills the caller's error, where there is one, and passes the status on.
powerinfer_status set_error(powerinfer_error* error, powerinfer_status status, std::string_view sentence) noexcept;

/// The exception in flight as a value.
powerinfer_status set_error_from_exception(powerinfer_error* error) noexcept;

/// Runs the body of a C function; no exception passes.
template <class F>
powerinfer_status guarded(powerinfer_error* error, F&& body) noexcept {
    try {
        body();
    } catch (...) {
        return set_error_from_exception(error);
    }
    return set_error(error, POWERINFER_OK, {});
}

/// Runs a callback of the user, named for messages; what leaves it becomes CallbackFailed.
template <class F>
auto call_user(std::string_view name, F&& callback) {
    try {
        return callback();
    } catch (const std::exception& e) {
        throw CallbackFailed{fmt::format("The {} callback threw an exception: {}.", name, e.what())};
    } catch (...) {
        throw CallbackFailed{fmt::format("The {} callback threw an exception of an unknown type.", name)};
    }
}

/// The thing pointed to. Throws Error{bad_argument} for NULL.
template <class T>
T& need(T* pointer, std::string_view argument) {
    if (!pointer) fail(ErrorKind::bad_argument, "The argument {} is NULL.", argument);
    return *pointer;
}

/// A text, or the default where it is NULL.
inline std::string text_or(const char* text, std::string_view otherwise) {
    return std::string(text ? std::string_view(text) : otherwise);
}

/// Writes the part of a default that a caller knows; what only a newer caller knows is zero.
template <class T>
void write_default(T value, T* to, size_t struct_size) {
    if (!to || struct_size < sizeof value.struct_size) return;
    value.struct_size = struct_size;
    std::memset(static_cast<void*>(to), 0, struct_size);
    std::memcpy(static_cast<void*>(to), &value, std::min(struct_size, sizeof value));
}

/// Throws Error{bad_argument} for a struct that no ..._default() has filled, or one of another version.
template <class T>
void check_struct(const T& given, std::string_view type) {
    if (given.struct_size != sizeof(T))
        fail(ErrorKind::bad_argument,
             "The field struct_size of a {} is {}, but this library expects {}: fill the struct with its _default() "
             "function, and use header and library of the same version.",
             type, given.struct_size, sizeof(T));
}

/// Gives the length, and n items plus `closing` more zero ones to a buffer that has room for them.
template <class T>
void copy_out(const T* items, size_t n, size_t closing, T* buffer, size_t capacity, size_t* length) {
    if (length) *length = n;
    if (!buffer && capacity == 0) return;
    need(buffer, "buffer");
    if (capacity < n + closing)
        fail(ErrorKind::bad_argument, "The buffer has room for {}, but {} are needed.", capacity, n + closing);
    std::copy_n(items, n, buffer);
    if (closing > 0) buffer[n] = T{};
}

LogSink log_sink(powerinfer_log_callback callback, void* user_data);
Progress progress(powerinfer_progress_callback callback, void* user_data);

/// Defaults for NULL. Throws Error{bad_argument} naming what is wrong.
SamplerOptions sampler_options(const powerinfer_sampler_options* given);

}  // namespace powerinfer::api
