#include "engine/families/gpt2_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/families/shared_parts.hpp"
#include "engine/families/tensor_names.hpp"
#include "engine/io/file_error.hpp"

namespace attn {
namespace {

constexpr std::string_view kPrefix = "transformer.";
constexpr std::string_view kHead = "lm_head.weight", kTokenTable = "transformer.wte.weight", kPositionTable = "transformer.wpe.weight";
constexpr std::int64_t kUsualHead = 64;

/// The layer number in a name: "transformer.h.11.ln_1.weight" -> 11.
std::optional<std::int64_t> layer_of(std::string_view name) {
    constexpr std::string_view kBefore = "transformer.h.";
    if (!name.starts_with(kBefore)) return std::nullopt;
    name.remove_prefix(kBefore.size());
    std::int64_t layer = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
    if (error != std::errc() || end == name.data() + name.size() || *end != '.' || layer < 0) return std::nullopt;
    return layer;
}

class Adopter {
public:
    explicit Adopter(ArrayFile& file) : file_(file) {}

    Config adopt(const std::string& config_json) {
        rename();
        expect_each_once();
        if (ties(config_json)) find_table();
        read_shapes();
        adopt_head();
        read_config_json(config_json);
        return config_;
    }

private:
    void read_shapes() {
        const auto [vocabulary, width] = matrix(kTokenTable);
        config_.vocab_size = vocabulary;
        config_.d_model = width;
        config_.context_length = matrix(kPositionTable).first;
        for (const NamedArray& array : file_.arrays)
            if (const std::optional<std::int64_t> layer = layer_of(array.name))
                // A gap in the numbering is reported later, as a missing tensor.
                config_.num_layers = std::max(config_.num_layers, std::min(*layer, static_cast<std::int64_t>(kMaxArrays)) + 1);
        if (config_.num_layers == 0) fail("", "has no layers: expected tensors such as transformer.h.0.ln_1.weight");
        config_.d_ff = matrix("transformer.h.0.mlp.c_fc.weight").second;
    }

    void read_config_json(const std::string& text) {
        if (text.empty()) {
            config_.num_heads = config_.d_model / kUsualHead;
            if (config_.d_model % kUsualHead != 0)
                fail("", fmt::format("the number of heads is unknown: {} columns are not a multiple of {}, GPT-2's head size; expected a "
                                     "config.json next to the file",
                                     config_.d_model, kUsualHead));
            return;
        }
        JsonObject object(text, config_source());
        if (!object.read("n_head", config_.num_heads, 1, 1 << 12)) object.fail_missing("n_head");
        read_gpt2_arithmetic(object, config_);
        if (config_.scale_by_layer) object.fail("scale_attn_by_inverse_layer_idx", "expected false: open such a model as a folder");
        if (config_.score_factor != 0) object.fail("scale_attn_weights", "expected true: open such a model as a folder");
    }

    [[noreturn]] void fail(std::string_view tensor, std::string_view problem) const {
        throw FileError(FileFault::Schema, file_.source, escaped(tensor), problem);
    }

    /// What precedes "transformer." and "lm_head." in names that a wrapper changed.
    std::string wrapper() const {
        constexpr std::string_view kQueries = "h.0.attn.c_attn.weight";
        for (const NamedArray& array : file_.arrays) {
            if (!array.name.ends_with(kQueries)) continue;
            std::string before = array.name.substr(0, array.name.size() - kQueries.size());
            if (before.ends_with(kPrefix)) before.erase(before.size() - kPrefix.size());
            return before;
        }
        return "";
    }

    void rename() {
        for (NamedArray& array : file_.arrays) array.name = without_wrappers(array.name);
        const std::string before = wrapper();
        for (NamedArray& array : file_.arrays)
            for (const std::string_view prefix : {std::string_view(before), kPrefix})
                if (array.name.starts_with(prefix)) array.name.erase(0, prefix.size());
        std::erase_if(file_.arrays, [&](const NamedArray& array) { return kGpt2Family.leftover(array.name, config_) == Leftover::Buffer; });
        for (NamedArray& array : file_.arrays)
            if (array.name != kHead) array.name.insert(0, kPrefix);
    }

    /// Whether the output head is the token table, as in every GPT-2 whose config.json does not say otherwise.
    bool ties(const std::string& config_json) const {
        bool tied = true;
        if (!config_json.empty()) JsonObject(config_json, config_source()).read("tie_word_embeddings", tied);
        return tied;
    }

    /// Some files have the table only under the head's name.
    void find_table() {
        const auto head = head_array();
        if (head != file_.arrays.end() && file_.find(kTokenTable) == nullptr) head->name = kTokenTable;
    }

    std::string config_source() const { return file_.source + ", its config.json"; }

    void expect_each_once() const {
        std::set<std::string_view> names;
        for (const NamedArray& array : file_.arrays)
            if (!names.insert(array.name).second)
                fail(array.name, "two tensors have this name, apart from what wrappers of the model added");
    }

    std::vector<NamedArray>::iterator head_array() {
        return std::find_if(file_.arrays.begin(), file_.arrays.end(), [](const NamedArray& array) { return array.name == kHead; });
    }

    std::pair<std::int64_t, std::int64_t> matrix(std::string_view name) const {
        const NamedArray* array = file_.find(name);
        if (array == nullptr) fail(name, "this tensor is missing: the file is neither a checkpoint of attnscope nor a GPT-2 model");
        if (array->shape.size() != 2) fail(name, fmt::format("expected two axes, found shape {}", shape_text(array->shape)));
        return {array->shape[0], array->shape[1]};
    }

    void adopt_head() {
        const auto head = head_array();
        if (head == file_.arrays.end()) return;
        const NamedArray& tokens = file_.at(kTokenTable);
        config_.tied_lm_head = head->dtype == tokens.dtype && head->shape == tokens.shape && head->bytes == tokens.bytes;
        if (config_.tied_lm_head) file_.arrays.erase(head);
    }

    ArrayFile& file_;
    Config config_{.num_layers = 0};
};

}  // namespace

Config adopt_gpt2(ArrayFile& file, const std::string& config_json) { return Adopter(file).adopt(config_json); }

}  // namespace attn
