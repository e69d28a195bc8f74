#include "engine/doctor/dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "engine/io/file_error.hpp"
#include "engine/io/json_object.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/trace/settings_json.hpp"

namespace attn::doctor {
namespace {

/// Orders "layers.10" after "layers.9".
bool natural_less(const std::string& a, const std::string& b) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (digit(a[i]) && digit(b[j])) {
            std::size_t end_i = i, end_j = j;
            while (end_i < a.size() && digit(a[end_i])) ++end_i;
            while (end_j < b.size() && digit(b[end_j])) ++end_j;
            const std::string left = a.substr(i, end_i - i), right = b.substr(j, end_j - j);
            if (left.size() != right.size()) return left.size() < right.size();
            if (left != right) return left < right;
            i = end_i;
            j = end_j;
        } else {
            if (a[i] != b[j]) return a[i] < b[j];
            ++i;
            ++j;
        }
    }
    return a.size() - i < b.size() - j;
}

struct SplitName {
    std::string prefix, last;
};

/// Splits a dotted (or slashed) name into prefix and last part. Reference files separate inputs and outputs ("in.q", "out.weights"), which
/// belong to the same group.
SplitName split_name(const std::string& name) {
    SplitName out;
    std::string text = name;
    std::replace(text.begin(), text.end(), '/', '.');
    const std::size_t dot = text.rfind('.');
    out.last = dot == std::string::npos ? text : text.substr(dot + 1);
    out.prefix = dot == std::string::npos ? "" : text.substr(0, dot);
    if (out.prefix == "in" || out.prefix == "out") out.prefix.clear();
    return out;
}

bool is_gradient(const std::string& prefix) { return prefix == "grad" || prefix.starts_with("grad.") || prefix.ends_with(".grad"); }

std::optional<bool> as_flag(std::string_view text) {
    for (const std::string_view yes : {"true", "True", "1", "yes", "train", "training"})
        if (text == yes) return true;
    for (const std::string_view no : {"false", "False", "0", "no", "eval", "evaluation", "inference"})
        if (text == no) return false;
    return std::nullopt;
}

std::optional<double> as_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || !(value < 1e15)) return std::nullopt;
    return value;
}

std::optional<std::int64_t> as_count(std::string_view text) {
    const std::optional<double> value = as_number(text);
    if (!value || *value < 1 || *value > 1e9 || *value != std::floor(*value)) return std::nullopt;
    return static_cast<std::int64_t>(*value);
}

/// Metadata entries, and arrays of a single number, which replace metadata in .npz files.
class Facts {
public:
    explicit Facts(const ArrayFile& file) : file_(file), texts_(file.metadata) {
        for (const NamedArray& array : file.arrays)
            if (array.shape.empty() || (array.shape.size() == 1 && array.count() == 1 && !meaning_of_name(array.name)))
                texts_.emplace(array.name, fmt::format("{}", values_as<double>(array, file.source)[0]));
    }

    /// Names of single numbers in the file that nothing has asked for.
    std::vector<std::string> unread() const {
        std::vector<std::string> names;
        for (const NamedArray& array : file_.arrays)
            if (array.count() == 1 && texts_.contains(array.name) && !file_.metadata.contains(array.name) && !known_.contains(array.name))
                names.push_back(array.name);
        return names;
    }

    std::optional<bool> flag(std::initializer_list<const char*> keys) const {
        return read<bool>(keys, as_flag, "is neither true nor false");
    }
    std::optional<double> number(std::initializer_list<const char*> keys) const {
        return read<double>(keys, as_number, "is not a number of at least 0");
    }
    /// 0 and None, as programs write them, stand for none.
    std::optional<double> number_or_none(std::initializer_list<const char*> keys) const {
        const auto zero_if_none = [](std::string_view text) {
            return text == "None" || text == "null" ? std::optional(0.0) : as_number(text);
        };
        const std::optional<double> value = read<double>(keys, zero_if_none, "is neither a number of at least 0 nor None");
        return value && *value > 0 ? value : std::nullopt;
    }
    std::optional<std::int64_t> count(std::initializer_list<const char*> keys) const {
        return read<std::int64_t>(keys, as_count, "is not a whole number of at least 1");
    }
    std::optional<std::int64_t> even_count(std::initializer_list<const char*> keys) const {
        const auto even = [](std::string_view text) {
            const std::optional<std::int64_t> value = as_count(text);
            return value && *value % 2 == 0 ? value : std::nullopt;
        };
        return read<std::int64_t>(keys, even, "is not an even number of at least 2");
    }
    std::optional<double> part(std::initializer_list<const char*> keys) const {
        const auto at_most_one = [](std::string_view text) {
            const std::optional<double> value = as_number(text);
            return value && *value > 0 && *value <= 1 ? value : std::nullopt;
        };
        return read<double>(keys, at_most_one, "is not a number above 0 and at most 1");
    }

private:
    template <class T, class F>
    std::optional<T> read(std::initializer_list<const char*> keys, const F& parse, const char* problem) const {
        known_.insert(keys.begin(), keys.end());
        for (const char* key : keys) {
            const auto found = texts_.find(key);
            if (found == texts_.end()) continue;
            const std::optional<T> value = parse(found->second);
            if (!value)
                throw FileError(FileFault::Schema, file_.source, "metadata",
                                fmt::format("{} \"{}\" {}", key, escaped(found->second), problem));
            return value;
        }
        return std::nullopt;
    }

    const ArrayFile& file_;
    std::map<std::string, std::string> texts_;
    mutable std::set<std::string> known_;  ///< keys asked for so far
};

bool has_format(const ArrayFile& file, std::string_view name) {
    const auto format = file.metadata.find("format");
    return format != file.metadata.end() && format->second == name;
}

/// Whether every rotated layer turns by the frequencies that follow from the one base.
bool turns_by_base_alone(const Config& config) {
    const auto& kinds = config.layer_kinds;
    return config.position == PositionKind::Rotary && config.rotary_stretch.kind == RotaryScaling::None &&
           std::none_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return kind.rotary == LayerRotary::Local; });
}

bool has_position_bias(const Config& config) { return config.position == PositionKind::Alibi || config.position == PositionKind::Buckets; }

/// Whether the attention has steps that are not recomputed here.
bool has_other_attention(const Config& config) {
    const auto& kinds = config.layer_kinds;
    const RotaryScaling stretch = config.rotary_stretch.kind;
    const bool turns_otherwise = stretch == RotaryScaling::Yarn || stretch == RotaryScaling::LongRope || stretch == RotaryScaling::Dynamic;
    return config.qk_norm != QueryKeyNorm::None || has_position_bias(config) || turns_otherwise || config.scale_by_layer ||
           std::any_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return kind.rotary == LayerRotary::Local; });
}

Hints read_hints(const ArrayFile& file) {
    const Facts facts(file);
    Hints hints;
    if (has_format(file, "attnscope-case/1")) {
        JsonObject config(file.metadata_at("config"), file.source + ", config");
        if (double scale = 0; config.read("scale", scale, 0, 1e15)) hints.scale = scale;
        return hints;
    }
    if (has_format(file, "attnscope-trace/1")) {
        const Config config = config_from_json(file.metadata_at("config"), file.source + ", config");
        const ForwardSettings settings = forward_settings_from_json(file.metadata_at("settings"), file.source + ", settings");
        hints.has_other_parts = has_other_attention(config);
        hints.own_trace = true;
        hints.has_bias = has_position_bias(config);
        hints.num_heads = config.num_heads;
        hints.d_model = config.d_model;
        hints.head_size = config.head_size();
        if (turns_by_base_alone(config)) hints.rotary_base = config.rotary_base;
        if (config.position == PositionKind::Rotary) hints.rotary_width = config.rotated_size();
        if (config.score_factor > 0) hints.scale = config.score_factor;
        if (config.score_cap > 0) hints.softcap = config.score_cap;
        hints.temperature = settings.temperature;
        hints.dropout = settings.dropout.attention;
        hints.training = facts.flag({"training"});
        return hints;
    }
    hints.num_heads = facts.count({"num_heads", "n_heads", "n_head", "num_attention_heads", "nhead", "heads"});
    hints.num_key_heads = facts.count({"num_kv_heads", "num_key_value_heads", "n_kv_heads", "n_kv_head", "num_query_groups"});
    hints.d_model = facts.count({"d_model", "embed_dim", "hidden_size", "n_embd"});
    hints.head_size = facts.count({"d_head", "head_dim", "head_size", "d_k"});
    hints.causal = facts.flag({"causal", "is_causal"});
    hints.training = facts.flag({"training", "train", "mode"});
    hints.dropout = facts.number({"dropout", "dropout_p", "attn_dropout", "attention_dropout"});
    hints.scale = facts.number({"scale", "softmax_scale"});
    hints.softcap = facts.number_or_none({"softcap", "attn_logit_softcapping", "attn_logit_softcap", "logits_soft_cap"});
    hints.rotary_base = facts.number({"rope_theta", "rope_base", "rotary_base", "rotary_emb_base"});
    if (hints.rotary_base && !(*hints.rotary_base > 1))
        throw FileError(FileFault::Schema, file.source, "metadata", "rope_theta must be above 1");
    hints.rotary_width = facts.even_count({"rotary_dim", "rotary_ndims", "rope_dim"});
    hints.rotary_part = facts.part({"partial_rotary_factor", "rotary_pct", "rotary_percentage"});
    if (const auto interleaved = facts.flag({"rotary_interleaved", "rope_interleaved", "rope_interleave"}))
        hints.rotary_halves = !*interleaved;
    if (const auto temperature = facts.number({"temperature"})) {
        if (!(*temperature > 0)) throw FileError(FileFault::Schema, file.source, "metadata", "the temperature must be above 0");
        hints.temperature = *temperature;
    }
    hints.unread = facts.unread();
    return hints;
}

/// Whether scores were overwritten by the masked ones under the same name. A mask is the same for every head of a sequence and rarely
/// concerns a single cell; products that became infinite by accident are different.
bool holds_a_mask(const NamedArray& scores, const std::string& source) {
    if (scores.shape.size() != 4 || scores.count() == 0) return false;
    const std::vector<double> values = values_as<double>(scores, source);
    const auto map = static_cast<std::size_t>(scores.shape[2] * scores.shape[3]), heads = static_cast<std::size_t>(scores.shape[1]);
    std::size_t forbidden = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const bool here = values[i] <= kForbidding;
        forbidden += here;
        if (i / map % heads != 0 && here != (values[i - map] <= kForbidding)) return false;
    }
    return forbidden > 1;
}

/// Whether a tensor named as a module is, and as its weights may be, holds the module's output, [B,T,C]: weights are not negative.
bool is_output(const NamedArray& array, const std::string& source) {
    if (array.shape.size() > 3) return false;
    const std::vector<double> values = values_as<double>(array, source);
    return std::any_of(values.begin(), values.end(), [](double x) { return x < 0 && x > kForbidding; });
}

/// A mask with a shorter prefix applies to all attentions below it that have none of their own.
void inherit_masks(std::map<std::string, Group, decltype(&natural_less)>& groups) {
    for (auto& [prefix, group] : groups) {
        std::string outer = prefix;
        while (group.masks.empty() && !outer.empty()) {
            const std::size_t dot = outer.rfind('.');
            outer = dot == std::string::npos ? "" : outer.substr(0, dot);
            const auto found = groups.find(outer);
            if (found != groups.end()) group.masks = found->second.masks;
        }
    }
}

}  // namespace

Dump sort_dump(const ArrayFile& file) {
    Dump dump;
    dump.hints = read_hints(file);
    std::map<std::string, Group, decltype(&natural_less)> groups(&natural_less);
    const bool own_trace = has_format(file, "attnscope-trace/1");
    std::map<std::string, NamedPart> beside_masks;
    std::map<std::string, std::vector<std::string>> unknown;
    for (const NamedArray& array : file.arrays) {
        SplitName name = split_name(array.name);
        // attnscope writes a mask beside each of its stages: "attention.weights.keep".
        const std::string_view keep_of[] = {"masked", "weights", "dropped"};
        const SplitName outer = split_name(name.prefix);
        const bool beside = name.last == "keep" && std::find(std::begin(keep_of), std::end(keep_of), outer.last) != std::end(keep_of);
        if (beside) name.prefix = outer.prefix;
        std::optional<NameMeaning> meaning = meaning_of_name(name.last);
        if (is_gradient(name.prefix) || array.shape.empty()) continue;
        if (!meaning) {
            if (array.count() > 1 && !name.last.starts_with("grad_")) unknown[name.prefix].push_back(name.last);
            continue;
        }
        const bool holds_mask = meaning->part == Part::Scores && holds_a_mask(array, file.source);
        meaning->may_be_later = meaning->may_be_later || holds_mask;
        Group& group = groups[name.prefix];
        group.prefix = name.prefix;
        if (meaning->module && is_output(array, file.source)) {
            group.outputs.push_back(name.last);
        } else if (meaning->part) {
            group.parts.push_back({&array, *meaning, holds_mask});
        } else if (meaning->sinks) {
            group.sinks = &array;
        } else if (beside) {
            beside_masks.try_emplace(name.prefix, NamedPart{&array, *meaning, false});  // all three are the same
        } else {
            group.masks.push_back({&array, *meaning, false});
            group.complete_mask = own_trace;
        }
    }
    for (const auto& [prefix, mask] : beside_masks) {
        // The mask that was used counts as the intended one, unless the file contains that, too.
        Group& group = groups[prefix];
        if (!group.masks.empty()) continue;
        group.masks.push_back(mask);
        group.complete_mask = true;
    }
    inherit_masks(groups);
    for (auto& [prefix, group] : groups)
        if (!group.parts.empty()) {
            if (!own_trace) group.unknown = unknown[prefix];   // its other stages are judged as a whole
            for (const std::string& name : dump.hints.unread)  // those of the whole file once
                if (const std::string own = split_name(name).prefix; own == prefix || (own.empty() && dump.groups.empty()))
                    group.unknown.push_back(name);
            dump.groups.push_back(std::move(group));
        }
    return dump;
}

}  // namespace attn::doctor
