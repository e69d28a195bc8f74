#include "engine/families/tensor_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "engine/io/file_error.hpp"

namespace attn {
namespace {

/// No family has a module of such a name.
constexpr std::array<std::string_view, 5> kWrappers = {"_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module",
                                                       "_forward_module"};

bool ends_in_part(std::string_view name, std::string_view ending) {
    return name.ends_with(ending) && (name.size() == ending.size() || name[name.size() - ending.size() - 1] == '.');
}

/// What may precede the family's names, with or without its own prefixes, seen from one tensor that every model has: the first layer's
/// queries. The shortest come first.
std::vector<std::string> possible_prefixes(const std::vector<std::string>& names, const std::vector<TensorSource>& sources,
                                           std::span<const std::string_view> own_prefixes) {
    const auto anchor = std::find_if(sources.begin(), sources.end(),
                                     [](const TensorSource& one) { return one.parameter.ends_with("layers.0.attention.q.weight"); });
    if (anchor == sources.end()) return {};
    std::set<std::string> found;
    for (const std::string_view name : names) {
        if (!ends_in_part(name, anchor->tensor)) continue;
        const std::string_view before = name.substr(0, name.size() - anchor->tensor.size());
        found.emplace(before);
        for (const std::string_view own : own_prefixes)
            if (ends_in_part(before, own)) found.emplace(before.substr(0, before.size() - own.size()));
    }
    std::vector<std::string> sorted(found.begin(), found.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    constexpr std::size_t kMostTried = 64;  // each is tried with all the names
    sorted.resize(std::min(sorted.size(), kMostTried));
    return sorted;
}

}  // namespace

std::string without_wrappers(std::string_view name, std::vector<std::string>* found) {
    std::string out;
    for (std::size_t begin = 0; begin < name.size();) {
        const std::size_t end = std::min(name.find('.', begin), name.size() - 1) + 1;
        const std::string_view part = name.substr(begin, end - begin);
        begin = end;
        if (!part.ends_with('.') || std::find(kWrappers.begin(), kWrappers.end(), part.substr(0, part.size() - 1)) == kWrappers.end())
            out += part;
        else if (found != nullptr && std::find(found->begin(), found->end(), part) == found->end()) found->emplace_back(part);
    }
    return out;
}

TensorNames::TensorNames(const WeightFiles& weights, const Family& family) : family_prefixes_(family.prefixes) { set(weights, false, ""); }

std::string TensorNames::plain(std::string_view tensor) const {
    std::string name = wrapped_ ? without_wrappers(tensor) : std::string(tensor);
    if (name.starts_with(prefix_)) name.erase(0, prefix_.size());
    return name;
}

bool TensorNames::set(const WeightFiles& weights, bool wrapped, const std::string& prefix) {
    wrapped_ = wrapped;
    prefix_ = prefix;
    tensors_.clear();
    return std::all_of(weights.tensors().begin(), weights.tensors().end(),
                       [&](const WeightFiles::Tensor& tensor) { return tensors_.emplace(plain(tensor.array.name), &tensor).second; });
}

std::size_t TensorNames::missing(const std::vector<TensorSource>& sources) const {
    return static_cast<std::size_t>(std::count_if(sources.begin(), sources.end(), [&](const TensorSource& source) {
        return find(source.tensor) == nullptr && (source.other_name.empty() || find(source.other_name) == nullptr);
    }));
}

void TensorNames::unwrap(const WeightFiles& weights, const std::vector<TensorSource>& sources, const std::string& file) {
    std::size_t fewest = missing(sources);
    if (fewest == 0) return;
    std::vector<std::string> names, wrappers;
    for (const WeightFiles::Tensor& tensor : weights.tensors()) names.push_back(without_wrappers(tensor.array.name, &wrappers));
    std::string best;
    bool found = false;
    TensorNames candidate = *this;
    for (const std::string& prefix : possible_prefixes(names, sources, family_prefixes_)) {
        if (!candidate.set(weights, true, prefix)) continue;
        const std::size_t count = candidate.missing(sources);
        if (found && count == fewest && !prefix.starts_with(best))
            throw FileError(FileFault::Schema, file, "",
                            fmt::format("has two models: the names of one begin with \"{}\", of the other with \"{}\"", escaped(best),
                                        escaped(prefix)));
        if (count >= fewest) continue;
        found = true;
        fewest = count;
        best = prefix;
    }
    if (!found) return;
    set(weights, true, best);
    left_out_ = std::move(wrappers);
    if (!best.empty()) left_out_.push_back(best);
}

const WeightFiles::Tensor* TensorNames::find(std::string_view name) const {
    const auto named = [&](const std::string& whole) {
        const auto found = tensors_.find(whole);
        return found == tensors_.end() ? nullptr : found->second;
    };
    if (const WeightFiles::Tensor* found = named(std::string(name))) return found;
    for (const std::string_view prefix : family_prefixes_)
        if (const WeightFiles::Tensor* found = named(std::string(prefix).append(name))) return found;
    return nullptr;
}

std::string TensorNames::bare(std::string_view tensor) const {
    std::string name = plain(tensor);
    for (const std::string_view prefix : family_prefixes_)
        if (name.starts_with(prefix)) return name.substr(prefix.size());
    return name;
}

std::string TensorNames::written(std::string_view tensor, bool head) const {
    const auto has_prefix = [&](std::string_view prefix) {
        return std::any_of(tensors_.begin(), tensors_.end(), [&](const auto& entry) { return entry.first.starts_with(prefix); });
    };
    const auto own = std::find_if(family_prefixes_.begin(), family_prefixes_.end(), has_prefix);
    return fmt::format("{}{}{}", prefix_, head || own == family_prefixes_.end() ? "" : *own, tensor);
}

}  // namespace attn
