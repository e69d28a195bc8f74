#include "engine/check/check_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "engine/check/case_file.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/json_object.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/model/transformer.hpp"

namespace attn::check {
namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 28;  ///< of one map

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

/// "attn.3.weights" without the number that it holds, and the number or -1.
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

/// One sequence of a run: where its tokens are among T positions, and what was computed from them alone.
template <class Scalar>
struct Sequence {
    std::vector<std::int64_t> places;
    Trace<Scalar> trace;
};

template <class Scalar>
class FolderCheck {
public:
    explicit FolderCheck(const std::filesystem::path& path)
        : folder_(open_model_folder(path)), parameters_(load_parameters<Scalar>(folder_)),
          file_(read_safetensors(path / "expected.safetensors"), Tolerance{}), tolerances_(read_tolerances(path / "expected.json")) {}

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
            if (name == "input_ids" || name == "attention_mask" || name == "position_ids") continue;
            report.tensors.push_back(name == "generated" ? compare_generated(array.name, run) : compare(array.name, name, sequences));
        }
    }

    std::vector<Sequence<Scalar>> compute(const std::string& run) const {
        const std::string name = run + ".input_ids";
        const std::vector<std::int64_t>& sizes = file_.sizes(name, 2);
        const std::vector<std::int32_t> ids = file_.ids(name, sizes, folder_.config.vocab_size);
        std::vector<std::int32_t> mask(ids.size(), 1), positions;
        if (file_.has(run + ".attention_mask")) mask = file_.ids(run + ".attention_mask", sizes, 2);
        if (file_.has(run + ".position_ids")) positions = file_.ids(run + ".position_ids", sizes, folder_.config.context_length);
        std::vector<Sequence<Scalar>> sequences;
        for (std::int64_t b = 0; b < sizes[0]; ++b) {
            Sequence<Scalar>& sequence = sequences.emplace_back();
            std::vector<std::int32_t> own;
            for (std::int64_t t = 0; t < sizes[1]; ++t) {
                const auto at = static_cast<std::size_t>(b * sizes[1] + t);
                if (mask[at] == 0) continue;
                const std::int64_t counted = folder_.family->counts_real_tokens ? static_cast<std::int64_t>(own.size()) : t;
                const std::int64_t position = positions.empty() ? counted : positions[at];
                if (position != static_cast<std::int64_t>(own.size()))
                    file_.fail(name, fmt::format("token {} of text {} has position {}; attnscope counts positions from the first token", t,
                                                 b, position));
                own.push_back(ids[at]);
                sequence.places.push_back(t);
            }
            if (own.empty()) file_.fail(name, fmt::format("text {} has no token", b));
            sequence.trace = trace(own, name);
        }
        return sequences;
    }

    Trace<Scalar> trace(std::vector<std::int32_t> ids, const std::string& name) const {
        const auto length = static_cast<std::int64_t>(ids.size());
        if (length > folder_.config.context_length)
            file_.fail(name, fmt::format("has {} tokens; the context length is {}", length, folder_.config.context_length));
        if (folder_.config.num_heads * length * length > kMaxCells) file_.fail(name, "would make attention maps that are too large");
        ForwardSettings settings;
        settings.masks.causal = folder_.config.architecture == Architecture::DecoderOnly;
        return trace_forward<Scalar>(parameters_, {length, std::move(ids), {length}}, {}, settings);
    }

    /// The stage that a name without its run means.
    const Tensor<Scalar>& value(const std::string& tensor, std::string_view name, const Trace<Scalar>& trace) const {
        const auto [kind, number] = without_number(name);
        const int layers = static_cast<int>(folder_.config.num_layers);
        const auto first = [&](std::initializer_list<StageId> stages) -> const Tensor<Scalar>& {
            for (const StageId& id : stages)
                if (const RecordedStage<Scalar>* stage = trace.find(id)) return stage->value;
            file_.fail(tensor, "is not among what attnscope computes of this model");
        };
        const auto left = [&](int layer) -> const Tensor<Scalar>& {
            if (layer < 0 || layer > layers) file_.fail(tensor, fmt::format("names layer {} of {}", layer, layers));
            const StageId stream = trace.plan->streams(Stack::Main).at(static_cast<std::size_t>(layer));
            return layer == layers ? first({{Stage::HeadIn}, {Stage::FinalNorm}, stream}) : first({stream});
        };
        if (kind == "logits") return first({trace.plan->logits()});
        if (kind == "last_hidden_state") return left(layers);
        if (kind == "hidden") return left(number);
        if (kind == "attn.q") return first({{Stage::QRotated, number}, {Stage::QNormed, number}, {Stage::Q, number}});
        if (kind == "attn.k") return first({{Stage::KRotated, number}, {Stage::KNormed, number}, {Stage::K, number}});
        if (kind == "attn.v") return first({{Stage::V, number}});
        if (kind == "attn.weights") return first({{Stage::Weights, number}});
        return first({});
    }

    /// What our numbers are multiplied by to be those that transformers tells.
    double factor(std::string_view name, const Trace<Scalar>& trace) const {
        const auto [kind, number] = without_number(name);
        if (kind != "attn.q" || !folder_.family->scales_queries) return 1;
        return trace.plan->at({Stage::Scaled, number}).settings.factor;
    }

    Tolerance tolerance(const std::string& tensor, const std::string& kind) const {
        const auto found = tolerances_.find(kind);
        if (found == tolerances_.end()) file_.fail(tensor, fmt::format("expected.json has no tolerance for \"{}\"", escaped(kind)));
        return found->second;
    }

    /// Rows of real tokens, of every head: [B,T,X] or [B,H,T,X].
    TensorResult compare(const std::string& tensor, std::string_view name, const std::vector<Sequence<Scalar>>& sequences) const {
        const std::vector<std::int64_t>& sizes = file_.sizes(tensor);
        const std::vector<double> all = file_.numbers<double>(tensor);
        const bool is_map = without_number(name).first == "attn.weights";
        std::vector<double> expected;
        std::vector<Scalar> computed;
        for (std::size_t b = 0; b < sequences.size(); ++b) {
            const std::vector<std::int64_t>& places = sequences[b].places;
            const Tensor<Scalar>& value = this->value(tensor, name, sequences[b].trace);
            std::vector<std::int64_t> needed = sizes_of(value.shape());
            const std::size_t rank = needed.size();
            const std::int64_t length = file_.sizes(tensor.substr(0, tensor.find('.')) + ".input_ids", 2)[1];
            const auto own_columns = needed.back();
            needed[0] = static_cast<std::int64_t>(sequences.size());
            needed[rank - 2] = length;
            if (is_map) needed[rank - 1] = length;
            if (sizes != needed) file_.fail(tensor, fmt::format("has shape {} instead of {}", shape_text(sizes), shape_text(needed)));
            const std::int64_t heads = rank == 4 ? needed[1] : 1, columns = needed.back();
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::size_t row = 0; row < places.size(); ++row) {
                    const double* const given = all.data() + ((static_cast<std::int64_t>(b) * heads + h) * length + places[row]) * columns;
                    const Scalar* const ours =
                        value.data() + (h * static_cast<std::int64_t>(places.size()) + static_cast<std::int64_t>(row)) * own_columns;
                    expected.insert(expected.end(), given, given + columns);
                    if (is_map) {
                        const std::size_t begin = computed.size();
                        computed.resize(begin + static_cast<std::size_t>(columns), Scalar{0});
                        for (std::size_t key = 0; key < places.size(); ++key)
                            computed[begin + static_cast<std::size_t>(places[key])] = ours[key];
                    } else {
                        const auto factor = static_cast<Scalar>(this->factor(name, sequences[b].trace));
                        std::transform(ours, ours + columns, std::back_inserter(computed), [&](Scalar x) { return factor * x; });
                    }
                }
        }
        TensorResult result = compare_numbers<Scalar>(tensor, expected, computed, tolerance(tensor, without_number(name).first));
        result.shape = sizes;
        return result;
    }

    /// By induction: when the likeliest token after each beginning is the one that follows, the whole continuation is the greedy one.
    TensorResult compare_generated(const std::string& tensor, const std::string& run) const {
        const std::vector<std::int64_t>& sizes = file_.sizes(tensor, 2);
        const std::vector<std::int64_t>& given = file_.sizes(run + ".input_ids", 2);
        const std::vector<std::int32_t> ids = file_.ids(tensor, sizes, folder_.config.vocab_size);
        const std::vector<std::int32_t> prompt = file_.ids(run + ".input_ids", given, folder_.config.vocab_size);
        if (sizes[0] != 1 || given[0] != 1 || sizes[1] <= given[1] || !std::equal(prompt.begin(), prompt.end(), ids.begin()))
            file_.fail(tensor, "does not continue the one text of input_ids");
        const Trace<Scalar> trace = this->trace({ids.begin(), ids.end() - 1}, tensor);
        const Tensor<Scalar>& logits = value(tensor, "logits", trace);
        std::vector<double> expected;
        std::vector<Scalar> likeliest;
        for (std::int64_t t = given[1] - 1; t + 1 < sizes[1]; ++t) {
            const Scalar* const row = logits.data() + t * folder_.config.vocab_size;
            likeliest.push_back(static_cast<Scalar>(std::max_element(row, row + folder_.config.vocab_size) - row));
            expected.push_back(ids[static_cast<std::size_t>(t + 1)]);
        }
        TensorResult result = compare_numbers<Scalar>(tensor, expected, likeliest, {0, 0});
        result.shape = sizes;
        return result;
    }

    ModelFolder folder_;
    std::shared_ptr<const Parameters<Scalar>> parameters_;
    CaseFile file_;
    std::map<std::string, Tolerance> tolerances_;
};

}  // namespace

Report check_folder(const std::filesystem::path& folder, const Options& options) {
    return options.in_double ? FolderCheck<double>(folder).run() : FolderCheck<float>(folder).run();
}

}  // namespace attn::check
