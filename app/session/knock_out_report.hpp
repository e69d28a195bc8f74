#pragma once
/// How far the measuring of heads is, and what came out.

#include <cstdint>
#include <memory>
#include <string>

#include "engine/trace/head_worth.hpp"

namespace attn::app {

struct KnockOutReport {
    std::uint64_t asked = 0;                 ///< serial of the newest snapshot that was asked about; 0: none was, or it was cancelled
    KnockOutQuestion asked_question;         ///< of the same
    std::uint64_t serial = 0;                ///< of the snapshot that `result` is of; an older one than `asked` means that it is outdated
    KnockOutQuestion question;               ///< that `result` answers
    std::shared_ptr<const KnockOut> result;  ///< null until the first
    bool running = false;
    std::size_t done = 0, total = 0;  ///< heads, while running
    std::string problem;              ///< why the newest question has no answer, "" when it has one or waits for it
};

}  // namespace attn::app
