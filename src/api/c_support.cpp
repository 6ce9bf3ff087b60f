#include "api/c_support.h"

#include <stdexcept>

namespace powerinfer::api {
namespace {

powerinfer_status status_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::bad_argument: return POWERINFER_BAD_ARGUMENT;
        case ErrorKind::bad_file: return POWERINFER_BAD_FILE;
        case ErrorKind::unsupported: return POWERINFER_UNSUPPORTED;
        case ErrorKind::io: return POWERINFER_IO;
        case ErrorKind::out_of_memory: return POWERINFER_OUT_OF_MEMORY;
        case ErrorKind::cancelled: return POWERINFER_CANCELLED;
        case ErrorKind::internal: return POWERINFER_INTERNAL;
    }
    return POWERINFER_INTERNAL;
}

}  // namespace

powerinfer_status set_error(powerinfer_error* error, powerinfer_status status, std::string_view sentence) noexcept {
    if (!error) return status;
    error->status = status;
    size_t n = std::min(sentence.size(), sizeof error->message - 1);
    if (n < sentence.size())  // not inside a character
        while (n > 0 && (static_cast<unsigned char>(sentence[n]) & 0xC0u) == 0x80u) --n;
    std::memcpy(error->message, sentence.data(), n);
    error->message[n] = '\0';
    return status;
}

powerinfer_status set_error_from_exception(powerinfer_error* error) noexcept {
    try {
        throw;
    } catch (const CallbackFailed& e) {
        return set_error(error, POWERINFER_CALLBACK_FAILED, e.sentence);
    } catch (const Error& e) {
        return set_error(error, status_of(e.kind()), e.what());
    } catch (const std::bad_alloc&) {
        return set_error(error, POWERINFER_OUT_OF_MEMORY, "There is not enough memory for this call.");
    } catch (const std::length_error&) {
        return set_error(error, POWERINFER_OUT_OF_MEMORY, "This call would need more memory than can be addressed.");
    } catch (const std::exception& e) {
        return set_error(error, POWERINFER_INTERNAL, e.what());
    } catch (...) {
        return set_error(error, POWERINFER_INTERNAL, "An exception of an unknown type was thrown inside the library.");
    }
}

LogSink log_sink(powerinfer_log_callback callback, void* user_data) {
    if (!callback) return {};
    return [callback, user_data](LogLevel level, std::string_view line) {
        const std::string text(line);
        call_user("log", [&] { callback(static_cast<powerinfer_log_level>(level), text.c_str(), user_data); });
    };
}
static_assert(static_cast<int>(LogLevel::debug) == POWERINFER_LOG_DEBUG);
static_assert(static_cast<int>(LogLevel::info) == POWERINFER_LOG_INFO);
static_assert(static_cast<int>(LogLevel::warning) == POWERINFER_LOG_WARNING);

Progress progress(powerinfer_progress_callback callback, void* user_data) {
    if (!callback) return {};
    return [callback, user_data](double share, std::string_view what) {
        const std::string text(what);
        return call_user("progress", [&] { return callback(share, text.c_str(), user_data) != 0; });
    };
}

}  // namespace powerinfer::api
