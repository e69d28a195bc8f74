#include "engine/recording/stage_pair.hpp"

#include <fmt/format.h>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn::recording {
namespace {

/// "blocks.0/norm_2 (model.py:33) has no place in a model of ours"
[[noreturn]] void refuse_at(const std::string& name, const std::string& line, std::string_view why) {
    throw Error(fmt::format("{}{} {}", escaped(name, 0), line.empty() ? "" : fmt::format(" ({})", escaped(line, 0)), why));
}

}  // namespace

std::string StagePair::name() const { return attention == nullptr ? stage->name : attention->name + "/" + stage->name; }

void refuse(const StagePair& at, std::string_view why) { refuse_at(at.name(), at.stage->line, why); }
void refuse(const RecordedStage& around, std::string_view why) { refuse_at(around.name, around.line, why); }
void refuse(const RecordedAttention& attention, std::string_view why) { refuse_at(attention.name, attention.source, why); }

}  // namespace attn::recording
