#include "engine/check/check_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "engine/check/case_file.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/json_object.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/io/while_intact.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/transformer.hpp"

namespace attn::check {
namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 28;  ///< in one map

std::map<std::string, Tolerance> read_tolerances(const std::filesystem::path& path) {
    Json json = Json::parse(read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}), escaped(path.native(), 0));
    json.drop_null_members();
    JsonObject all = JsonObject::of(std::move(json), escaped(path.native(), 0));
    JsonObject errors = all.object("errors");
    std::map<std::string, Tolerance> out;
    for (const auto& [kind, unused] : errors.whole().members()) {
        JsonObject entry = errors.object(kind);
        double tolerance = 0;
        if (!entry.read("tolerance", tolerance, 0, 1e30)) entry.fail_missing("tolerance");
        out[kind] = {tolerance, 0};
    }
    return out;
}

/// The path of "expected" + extension in a folder, or beside a GGUF file.
std::filesystem::path expected_of(const std::filesystem::path& path, const char* extension) {
    if (!is_gguf_file(path)) return path / (std::string("expected") + extension);
    return path.parent_path() / (path.stem().string() + ".expected" + extension);
}

/// "attn.3.weights" without its number, and the number (-1 if there is none).
std::pair<std::string, int> without_number(std::string_view name) {
    std::string kind;
    int number = -1;
    for (std::size_t at = 0; at <= name.size();) {
        const std::size_t end = std::min(name.find('.', at), name.size());
        const std::string_view part = name.substr(at, end - at);
        int value = 0;
        const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (!part.empty() && error == std::errc() && stop == part.data() + part.size()) number = value;
        else kind += fmt::format("{}{}", kind.empty() ? "" : ".", part);
        at = end + 1;
    }
    return {kind, number};
}

/// One sequence of a run: its tokens' positions among the T columns, and the trace of these tokens alone.
template <class Scalar>
struct Sequence {
    std::vector<std::int64_t> places, source_places;
    Trace<Scalar> trace;
};

template <class Scalar>
class FolderCheck {
public:
    FolderCheck(const std::filesystem::path& path, const ModelFolder& folder)
        : folder_(folder), parameters_(load_parameters<Scalar>(folder_)),
          file_(read_safetensors(expected_of(path, ".safetensors")), Tolerance{}),
          tolerances_(read_tolerances(expected_of(path, ".json"))) {}

    Report run() {
        std::set<std::string> runs;
        for (const NamedArray& array : file_.arrays()) runs.insert(array.name.substr(0, array.name.find('.')));
        Report report{escaped(folder_.path.native(), 0), fmt::format("{} ({})", folder_.family->name, folder_.model_type), {}};
        for (const std::string& run : runs) compare_run(run, report);
        return report;
    }

private:
    void compare_run(const std::string& run, Report& report) {
        const std::vector<Sequence<Scalar>> sequences = compute(run);
        for (const NamedArray& array : file_.arrays()) {
            if (!array.name.starts_with(run + ".")) continue;
            const std::string_view name = std::string_view(array.name).substr(run.size() + 1);
            if (is_input(name)) continue;
            if (name == "generated") report.tensors.push_back(compare_generated(array.name, run));
            else if (name == "pooler_output") report.tensors.push_back(compare_pooled(array.name, sequences));
            else report.tensors.push_back(compare(array.name, name, sequences));
        }
    }

    static bool is_input(std::string_view name) {
        return name == "input_ids" || name == "attention_mask" || name == "position_ids" || name == "token_type_ids" ||
               name == "decoder_input_ids";
    }
    bool two_stacks() const { return folder_.config.architecture == Architecture::EncoderDecoder; }

    /// The real tokens of one of an input's texts, and their positions.
    struct Text {
        std::vector<std::int32_t> ids, segments;
        std::vector<std::int64_t> places;
        std::int64_t rotated_as = 0;  ///< length of the padded batch, which rotations may depend on
    };
    std::vector<Text> texts(const std::string& run, const std::string& name) const {
        const std::vector<std::int64_t>& sizes = file_.sizes(name, 2);
        const std::vector<std::int32_t> ids = file_.ids(name, sizes, folder_.config.vocab_size);
        std::vector<std::int32_t> mask(ids.size(), 1), positions, segments;
        const bool whole = name.ends_with("decoder_input_ids");
        if (!whole && file_.has(run + ".attention_mask")) mask = file_.ids(run + ".attention_mask", sizes, 2);
        if (!whole && file_.has(run + ".position_ids")) positions = file_.ids(run + ".position_ids", sizes, folder_.config.longest_text());
        if (!whole && folder_.config.num_segments > 0 && file_.has(run + ".token_type_ids"))
            segments = file_.ids(run + ".token_type_ids", sizes, folder_.config.num_segments);
        std::vector<Text> out;
        for (std::int64_t b = 0; b < sizes[0]; ++b) {
            Text& text = out.emplace_back();
            for (std::int64_t t = 0; t < sizes[1]; ++t) {
                const auto at = static_cast<std::size_t>(b * sizes[1] + t);
                if (mask[at] == 0) continue;
                const std::int64_t counted = folder_.family->counts_real_tokens ? static_cast<std::int64_t>(text.ids.size()) : t;
                const std::int64_t position = positions.empty() ? counted : positions[at];
                if (position != static_cast<std::int64_t>(text.ids.size()))
                    file_.fail(name, fmt::format("token {} of text {} has position {}; attnscope counts positions from the first token", t,
                                                 b, position));
                text.ids.push_back(ids[at]);
                if (!segments.empty()) text.segments.push_back(segments[at]);
                text.places.push_back(t);
            }
            if (text.ids.empty()) file_.fail(name, fmt::format("text {} has no token", b));
            text.rotated_as = positions.empty() ? sizes[1] : 1 + *std::max_element(positions.begin(), positions.end());
        }
        return out;
    }

    std::vector<Sequence<Scalar>> compute(const std::string& run) const {
        const std::string name = run + ".input_ids", answers = run + ".decoder_input_ids";
        std::vector<Text> read = texts(run, name), written;
        if (two_stacks()) written = texts(run, answers);
        if (two_stacks() && written.size() != read.size()) file_.fail(answers, "has a different number of texts than input_ids");
        std::vector<Sequence<Scalar>> sequences;
        for (std::size_t b = 0; b < read.size(); ++b) {
            Sequence<Scalar>& sequence = sequences.emplace_back();
            if (two_stacks()) {
                sequence.places = written[b].places;
                sequence.source_places = read[b].places;
                sequence.trace = trace(std::move(written[b]), answers, batch_of(std::move(read[b]), name));
            } else {
                sequence.places = read[b].places;
                sequence.trace = trace(std::move(read[b]), name);
            }
        }
        return sequences;
    }

    TokenBatch batch_of(Text text, const std::string& name) const {
        const auto length = static_cast<std::int64_t>(text.ids.size());
        const std::int64_t padded = same_frequencies(plan_, length, text.rotated_as) ? length : std::max(length, text.rotated_as);
        if (padded > folder_.config.longest_text())
            file_.fail(name, fmt::format("has {} tokens; the context length is {}", padded, folder_.config.longest_text()));
        if (folder_.config.num_heads * padded * padded > kMaxCells) file_.fail(name, "would make attention maps that are too large");
        text.ids.resize(static_cast<std::size_t>(padded));
        if (!text.segments.empty()) text.segments.resize(static_cast<std::size_t>(padded));
        return {padded, std::move(text.ids), {length}, std::move(text.segments)};
    }

    Trace<Scalar> trace(Text text, const std::string& name, TokenBatch source = {}) const {
        ForwardSettings settings;
        settings.masks.causal = folder_.config.architecture != Architecture::Encoder;
        return trace_forward<Scalar>(parameters_, batch_of(std::move(text), name), std::move(source), settings);
    }

    /// What a tensor name, without its run, refers to.
    struct Meaning {
        std::string kind;
        int number = -1;
        Stack stack = Stack::Main;
        bool cross = false;
    };
    static Meaning meaning_of(std::string_view name) {
        Meaning out;
        const auto takes = [&](std::string_view prefix) {
            if (!name.starts_with(prefix)) return false;
            name.remove_prefix(prefix.size());
            return true;
        };
        if (takes("encoder.")) out.stack = Stack::Encoder;
        else if (takes("decoder.")) out.stack = Stack::Decoder;
        std::tie(out.kind, out.number) = without_number(name);
        out.cross = out.kind.starts_with("cross.");
        if (out.cross) out.kind.replace(0, 5, "attn");
        return out;
    }

    const Tensor<Scalar>& value(const std::string& tensor, std::string_view name, const Trace<Scalar>& trace) const {
        const Meaning meant = meaning_of(name);
        const std::string& kind = meant.kind;
        const auto first = [&](std::initializer_list<StageId> stages) -> const Tensor<Scalar>& {
            for (StageId id : stages) {
                if (meant.stack != Stack::Main) id.stack = meant.stack;
                if (meant.cross) id.attention = kCrossAttention;
                if (const RecordedStage<Scalar>* stage = trace.find(id)) return stage->value;
            }
            file_.fail(tensor, "is not something attnscope computes for this model");
        };
        const auto left = [&](int layer) -> const Tensor<Scalar>& {
            const std::vector<StageId> streams = trace.plan->streams(meant.stack);
            const int layers = static_cast<int>(streams.size()) - 1;
            if (layer < 0 || layer > layers) file_.fail(tensor, fmt::format("names layer {} of {}", layer, layers));
            const StageId stream = streams[static_cast<std::size_t>(layer)];
            return layer == layers ? first({{Stage::HeadIn}, {Stage::FinalNorm}, stream}) : first({stream});
        };
        if (kind == "logits") return trace.find(trace.plan->logits())->value;
        if (kind == "last_hidden_state") return left(static_cast<int>(trace.plan->streams(meant.stack).size()) - 1);
        if (kind == "hidden") return left(meant.number);
        if (kind == "attn.q") return first({{Stage::QRotated, meant.number}, {Stage::QNormed, meant.number}, {Stage::Q, meant.number}});
        if (kind == "attn.k") return first({{Stage::KRotated, meant.number}, {Stage::KNormed, meant.number}, {Stage::K, meant.number}});
        if (kind == "attn.v") return first({{Stage::V, meant.number}});
        if (kind == "attn.weights") return first({{Stage::Weights, meant.number}});
        return first({});
    }

    /// What to multiply our numbers by to get those that transformers reports.
    double factor(std::string_view name, const Trace<Scalar>& trace) const {
        const Meaning meant = meaning_of(name);
        if (meant.kind != "attn.q" || !folder_.family->scales_queries) return 1;
        return trace.plan->at({Stage::Scaled, meant.number}).settings.factor;
    }

    Tolerance tolerance(const std::string& tensor, std::string_view name) const {
        const Meaning meant = meaning_of(name);
        const std::string kind = without_number(name).first;
        // Tolerances are listed by kind of tensor, with or without the stack.
        for (const std::string& known : {kind, meant.kind, meant.cross ? "cross" + meant.kind.substr(4) : meant.kind})
            if (const auto found = tolerances_.find(known); found != tolerances_.end()) return found->second;
        file_.fail(tensor, fmt::format("expected.json has no tolerance for \"{}\"", escaped(kind)));
    }

    /// Compares the rows of real tokens, for every head: [B,T,X] or [B,H,T,X].
    TensorResult compare(const std::string& tensor, std::string_view name, const std::vector<Sequence<Scalar>>& sequences) const {
        const std::vector<std::int64_t>& sizes = file_.sizes(tensor);
        const std::vector<double> all = file_.numbers<double>(tensor);
        const Meaning meant = meaning_of(name);
        const bool is_map = meant.kind == "attn.weights";
        // Rows are positions of one text, columns of a map may be those of another.
        const bool keys_read = meant.cross || meant.stack == Stack::Encoder;
        const bool rows_read = meant.stack == Stack::Encoder || (meant.cross && (meant.kind == "attn.k" || meant.kind == "attn.v"));
        const std::string run = tensor.substr(0, tensor.find('.')), read = run + ".input_ids";
        const std::string own = two_stacks() ? run + ".decoder_input_ids" : read;
        const std::int64_t length = file_.sizes(rows_read ? read : own, 2)[1], keys = file_.sizes(keys_read ? read : own, 2)[1];
        std::vector<double> expected;
        std::vector<Scalar> computed;
        for (std::size_t b = 0; b < sequences.size(); ++b) {
            const std::vector<std::int64_t>&places = rows_read ? sequences[b].source_places : sequences[b].places,
                  &columns_at = keys_read ? sequences[b].source_places : sequences[b].places;
            const Tensor<Scalar>& value = this->value(tensor, name, sequences[b].trace);
            std::vector<std::int64_t> needed = sizes_of(value.shape());
            const std::size_t rank = needed.size();
            const std::int64_t own_columns = needed[rank - 1], own_rows = needed[rank - 2];
            needed[0] = static_cast<std::int64_t>(sequences.size());
            needed[rank - 2] = length;
            if (is_map) needed[rank - 1] = keys;
            if (sizes != needed) file_.fail(tensor, fmt::format("has shape {} instead of {}", shape_text(sizes), shape_text(needed)));
            const std::int64_t heads = rank == 4 ? needed[1] : 1, columns = needed.back();
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::size_t row = 0; row < places.size(); ++row) {
                    const double* const given = all.data() + ((static_cast<std::int64_t>(b) * heads + h) * length + places[row]) * columns;
                    const Scalar* const ours = value.data() + (h * own_rows + static_cast<std::int64_t>(row)) * own_columns;
                    expected.insert(expected.end(), given, given + columns);
                    if (is_map) {
                        const std::size_t begin = computed.size();
                        computed.resize(begin + static_cast<std::size_t>(columns), Scalar{0});
                        for (std::size_t key = 0; key < columns_at.size(); ++key)
                            computed[begin + static_cast<std::size_t>(columns_at[key])] = ours[key];
                    } else {
                        const auto factor = static_cast<Scalar>(this->factor(name, sequences[b].trace));
                        std::transform(ours, ours + columns, std::back_inserter(computed), [&](Scalar x) { return factor * x; });
                    }
                }
        }
        TensorResult result = compare_numbers<Scalar>(tensor, expected, computed, tolerance(tensor, name));
        result.shape = sizes;
        return result;
    }

    /// Compares tanh(W x + b) of the first token's final state, which sentence classifiers use.
    TensorResult compare_pooled(const std::string& tensor, const std::vector<Sequence<Scalar>>& sequences) const {
        const std::int64_t width = folder_.config.d_model;
        const std::vector<double> expected = file_.numbers<double>(tensor);
        if (file_.sizes(tensor) != std::vector<std::int64_t>{static_cast<std::int64_t>(sequences.size()), width})
            file_.fail(tensor, "does not have the shape [texts, width]");
        const auto numbers = [&](const std::string& name) {
            if (const WeightFiles::Tensor* found = folder_.names.find(name)) {
                std::vector<double> values(found->array.bytes.size() / dtype_size(found->array.dtype));
                copy_values<double>(found->array, folder_.weights->file_name(*found), values);
                return values;
            }
            file_.fail(tensor, "is given, but the folder has no " + name);
        };
        const std::vector<double> weight = numbers("pooler.dense.weight"), bias = numbers("pooler.dense.bias");
        if (static_cast<std::int64_t>(weight.size()) != width * width || static_cast<std::int64_t>(bias.size()) != width)
            file_.fail(tensor, "is given, but the pooler's tensors have a different shape");
        std::vector<Scalar> computed;
        for (const Sequence<Scalar>& sequence : sequences) {
            const Tensor<Scalar>& last = value(tensor, "last_hidden_state", sequence.trace);
            for (std::int64_t out = 0; out < width; ++out) {
                double sum = bias[static_cast<std::size_t>(out)];
                for (std::int64_t c = 0; c < width; ++c)
                    sum += weight[static_cast<std::size_t>(out * width + c)] * static_cast<double>(last(0, 0, c));
                computed.push_back(static_cast<Scalar>(std::tanh(sum)));
            }
        }
        TensorResult result = compare_numbers<Scalar>(tensor, expected, computed, tolerance(tensor, "pooler_output"));
        result.shape = file_.sizes(tensor);
        return result;
    }

    /// A continuation is the greedy one if after every prefix the likeliest token is the one that follows.
    TensorResult compare_generated(const std::string& tensor, const std::string& run) const {
        const std::vector<std::int64_t>& sizes = file_.sizes(tensor, 2);
        const std::vector<std::int32_t> ids = file_.ids(tensor, sizes, folder_.config.vocab_size);
        const std::vector<std::int64_t>& given = file_.sizes(run + ".input_ids", 2);
        const std::vector<std::int32_t> prompt = file_.ids(run + ".input_ids", given, folder_.config.vocab_size);
        // A decoder with an encoder begins with just the start token.
        const std::int64_t begin = two_stacks() ? 1 : given[1];
        if (sizes[0] != 1 || given[0] != 1 || sizes[1] <= begin ||
            (!two_stacks() && !std::equal(prompt.begin(), prompt.end(), ids.begin())))
            file_.fail(tensor, "does not continue the one text of input_ids");
        TokenBatch source;
        if (two_stacks()) source = batch_of({prompt, {}, {}, 0}, run + ".input_ids");
        // The pass over the longest prefix holds the shorter ones too, as long as they are rotated alike.
        Trace<Scalar> pass;
        const std::vector<double> expected(ids.begin(), ids.end());
        std::vector<Scalar> likeliest(ids.begin(), ids.end());  // the prompt is given
        for (std::int64_t end = sizes[1] - 1; end >= begin; --end) {
            if (pass.plan == nullptr || !same_frequencies(plan_, end, pass.tokens.length))
                pass = trace({{ids.begin(), ids.begin() + end}, {}, {}, 0}, tensor, source);
            const Scalar* const row = value(tensor, "logits", pass).data() + (end - 1) * folder_.config.vocab_size;
            likeliest[static_cast<std::size_t>(end)] = static_cast<Scalar>(std::max_element(row, row + folder_.config.vocab_size) - row);
        }
        TensorResult result = compare_numbers<Scalar>(tensor, expected, likeliest, {0, 0});
        result.shape = sizes;
        return result;
    }

    const ModelFolder& folder_;
    const Plan plan_{folder_.config};
    std::shared_ptr<const Parameters<Scalar>> parameters_;
    CaseFile file_;
    std::map<std::string, Tolerance> tolerances_;
};

}  // namespace

Report check_folder(const std::filesystem::path& folder, const Options& options) {
    const ModelFolder opened = open_model_folder(folder);
    return while_intact(*opened.weights, [&] {
        return options.in_double ? FolderCheck<double>(folder, opened).run() : FolderCheck<float>(folder, opened).run();
    });
}

}  // namespace attn::check
