// What the tests of the C API share: errors full of rubbish, and a session of the demo model.
#pragma once

#include <gtest/gtest.h>
#include <powerinfer/powerinfer_c.h>

#include <cstring>

#include "api/fable.h"

namespace powerinfer::test {

/// A powerinfer_error full of rubbish, as on a C programmer's stack.
struct DirtyError : powerinfer_error {
    DirtyError() { std::memset(static_cast<powerinfer_error*>(this), 0xA5, sizeof(powerinfer_error)); }
    std::string text() const { return message; }
};

/// The call failed with this status, and the sentence names `part`.
inline void expect_error(powerinfer_status status, const DirtyError& error, powerinfer_status expected, const char* part) {
    EXPECT_EQ(status, expected) << error.message;
    EXPECT_EQ(error.status, expected);
    EXPECT_NE(error.text().find(part), std::string::npos) << error.message;
}

class CApi : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(powerinfer_model_load(kFablePath.c_str(), nullptr, &model_, &error_), POWERINFER_OK)
            << error_.message;
        powerinfer_session_options_default(&options_, sizeof options_);
        options_.n_ctx = 128;
        ASSERT_EQ(powerinfer_session_new(model_, &options_, &session_, &error_), POWERINFER_OK) << error_.message;
        powerinfer_sampler_options_default(&sampling_, sizeof sampling_);
        sampling_.temperature = 0;
        powerinfer_generate_options_default(&generate_, sizeof generate_);
        generate_.n_predict = 64;
        generate_.sampling = &sampling_;
    }
    void TearDown() override {
        powerinfer_session_free(&session_);
        powerinfer_model_free(&model_);
    }

    powerinfer_status generate(powerinfer_finish_reason* reason = nullptr) {
        return powerinfer_session_generate(session_, kPrompt.c_str(), &generate_, reason, &error_);
    }
    powerinfer_status new_session(const powerinfer_session_options& options) {
        powerinfer_session* session = nullptr;
        const powerinfer_status status = powerinfer_session_new(model_, &options, &session, &error_);
        EXPECT_EQ(session == nullptr, status != POWERINFER_OK);
        powerinfer_session_free(&session);
        return status;
    }

    DirtyError error_;
    powerinfer_model* model_ = nullptr;
    powerinfer_session* session_ = nullptr;
    powerinfer_session_options options_;
    powerinfer_sampler_options sampling_;
    powerinfer_generate_options generate_;
};

}  // namespace powerinfer::test
