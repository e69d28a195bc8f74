#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

std::vector<std::int64_t> Sequence::sizes(Part part) const {
    switch (part) {
    case Part::QProj:
        return {queries, heads * head_size};
    case Part::KProj:
        return {keys, heads_stored(part) * head_size};
    case Part::VProj:
        return {keys, heads_stored(part) * value_size};
    case Part::Q:
    case Part::QRotated:
        return {heads, queries, head_size};
    case Part::K:
    case Part::KRotated:
        return {heads, keys, head_size};
    case Part::V:
    case Part::VRotated:
        return {heads, keys, value_size};
    case Part::Context:
        return {heads, queries, value_size};
    case Part::Concat:
        return {queries, heads * value_size};
    default:
        return {heads, queries, keys};
    }
}

std::vector<std::int64_t> Attention::cell(Part part, std::int64_t b, std::int64_t flat) const {
    const std::vector<std::int64_t> sizes = sequences[static_cast<std::size_t>(b)].sizes(part);
    const std::int64_t last = flat % sizes.back(), position = flat / sizes.back() % sizes[sizes.size() - 2];
    const std::int64_t head = flat / sizes.back() / sizes[sizes.size() - 2];
    const Layout& layout = layouts[static_cast<std::size_t>(part)];
    std::vector<std::int64_t> index;
    for (const char axis : layout.axes)
        index.push_back(axis == 'B' ? b : axis == 'H' ? head / layout.heads_per_stored_head : axis == 'P' ? position : last);
    return index;
}

}  // namespace attn::doctor
