#include "engine/doctor/one_head.hpp"

namespace attn::doctor {
namespace {

template <class Number>
std::vector<Number> slice_of(const std::vector<Number>& all, std::int64_t heads, std::int64_t head) {
    const auto size = static_cast<std::ptrdiff_t>(all.size()) / heads;
    return {all.begin() + head * size, all.begin() + (head + 1) * size};
}

std::shared_ptr<const Keep> slice_of(const std::shared_ptr<const Keep>& keep, std::int64_t heads, std::int64_t head) {
    return keep == nullptr ? nullptr : std::make_shared<const Keep>(slice_of(*keep, heads, head));
}

}  // namespace

bool is_separable(const Sequence& sequence) {
    for (int i = 0; i < kPartCount; ++i)
        if (is_packed(static_cast<Part>(i)) && sequence.has(static_cast<Part>(i))) return false;
    return sequence.heads > 1;
}

Sequence head_of(const Sequence& sequence, std::int64_t head) {
    Sequence out = sequence;
    out.heads = 1;
    out.stored_heads = {};  // shared ones are repeated in `values`
    for (auto& values : out.values) values = slice_of(values, sequence.heads, head);
    out.intent.keep = slice_of(sequence.intent.keep, sequence.heads, head);
    out.sinks = slice_of(sequence.sinks, sequence.heads, head);
    out.intent.bias = slice_of(sequence.intent.bias, sequence.heads, head);
    return out;
}

Recipe head_of(const Recipe& recipe, const Sequence& sequence, std::int64_t head) {
    Recipe out = recipe;
    for (std::shared_ptr<const Keep>* keep : {&out.keep, &out.meant, &out.shown}) *keep = slice_of(*keep, sequence.heads, head);
    return out;
}

}  // namespace attn::doctor
