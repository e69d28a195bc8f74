#include "engine/recording/model_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/recording/embedded_rows.hpp"
#include "engine/recording/follower.hpp"
#include "engine/recording/known_attention.hpp"
#include "engine/recording/known_forms.hpp"
#include "engine/recording/known_rotation.hpp"
#include "engine/tensor/error.hpp"

namespace attn::recording {

namespace {

/// How a layer is put together; all layers of a model of ours are alike.
struct LayerForm {
    NormPlacement norm = NormPlacement::None;
    bool residual = false, feed_forward = false, gated = false, output_projection = false;
    bool operator==(const LayerForm&) const = default;
};

/// The attention of a layer, or its heads, and the attention to another text, if it has one.
struct LayerPlace {
    Stack stack = Stack::Main;
    std::span<const RecordedAttention> own, cross;
};

class ModelFinder {
public:
    ModelFinder(const RecordedGraph& graph, const RecordedStep& step, const FindParameter& parameter)
        : graph_(graph), step_(step), parameter_(parameter), around_(graph, nobody_, step, parameter) {
        around_.read_all_attentions();
    }

    ModelParts find() {
        if (graph_.attentions.empty()) throw Error("no attention was recorded");
        find_layers();
        if (layers_.front().stack != Stack::Main) encoder();
        for (std::size_t i = 0; i < layers_.size(); ++i)
            if (layers_[i].stack != Stack::Encoder) layer(i);
        head();
        if (layers_.front().stack != Stack::Main) take_vectors();
        expect_all_used();
        settle_sizes();
        settle_head_norms();
        settle_rotation();
        settle_bias();
        settle_masks();
        return std::move(parts_);
    }

private:
    // What reads what.

    const RecordedStage* around(const std::string& name) const {
        const auto found =
            std::find_if(graph_.around.begin(), graph_.around.end(), [&](const RecordedStage& each) { return each.name == name; });
        return found == graph_.around.end() ? nullptr : &*found;
    }
    /// The first stage around the attentions that reads `name` by an operation; null if there is none.
    const RecordedStage* reader(const std::string& name, std::string_view op) const {
        for (const RecordedStage& each : graph_.around)
            if (each.op == op && std::find(each.inputs.begin(), each.inputs.end(), name) != each.inputs.end()) return &each;
        return nullptr;
    }
    const RecordedStage* norm_named(const std::string& name) const {
        const RecordedStage* found = around(name);
        return found != nullptr && found->op == "norm" ? found : nullptr;
    }
    /// What a sum adds to `name`.
    std::string other_input(const RecordedStage& sum, const std::string& name) const {
        if (sum.inputs.size() != 2) refuse(sum, "adds something that was not recorded");
        return sum.inputs[sum.inputs[0] == name ? 1 : 0];
    }

    StageId ours(Stage role, int layer = -1, std::uint8_t attention = kSelfAttention) const { return {role, layer, stack_, attention}; }
    void use(const RecordedStage& stage, const StageId& role) {
        used_.insert(stage.name);
        parts_.stages.push_back({role, nullptr, &stage});
    }
    std::string of_stack(const std::string& name) const {
        return (stack_ == Stack::Encoder ? "encoder." : stack_ == Stack::Decoder ? "decoder." : "") + name;
    }
    std::string of_layer(int number) const { return of_stack(fmt::format("layers.{}.", number)); }

    // Parameters.

    Numbers recorded(Follower& follower, const StagePair& at) {
        try {
            std::optional<Numbers> numbers = at.stage->padded ? std::nullopt : follower.recorded(*at.stage);
            if (numbers) return std::move(*numbers);
            if (!at.stage->kernel.empty()) return follower.computed(*at.stage);
        } catch (const NotComputed& problem) {
            refuse(at, "cannot be read: " + problem.why);
        }
        refuse(at, "was not recorded");
    }

    /// Takes a linear map's weight and bias, of which a packed one has only some columns.
    void linear(Follower& follower, const StagePair& at, const std::string& name) {
        const Numbers result = recorded(follower, at);
        std::optional<FittingMap> fitting;
        try {
            fitting = follower.fitting_map(*at.stage, result);
        } catch (const NotComputed& problem) {
            refuse(at, "is not understood: " + problem.why);
        }
        if (!fitting) refuse(at, "does not follow from its parameters, or " + std::string(kUnknownChannels));
        const std::int64_t columns = std::max(result.size('H'), result.size('G')) * result.shape.back();
        const std::int64_t rows = fitting->weight.shape[fitting->transposed ? 0 : 1], stored = fitting->weight.shape[1];
        const std::vector<double> weight = values_as<double>(fitting->weight, step_.source());
        FoundMatrix matrix{rows, columns, {}};
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = fitting->first; column < fitting->first + columns; ++column)
                matrix.values.push_back(
                    weight[static_cast<std::size_t>(fitting->transposed ? row * stored + column : column * stored + row)]);
        put_beside(name + ".weight", matrix);
        if (!fitting->bias) return;
        const std::vector<double> bias = values_as<double>(*fitting->bias, step_.source());
        const auto first = bias.begin() + fitting->first;
        put_beside(name + ".bias", {1, columns, {first, first + columns}});
    }

    /// Columns of further heads follow those of the first.
    void put_beside(const std::string& name, const FoundMatrix& columns) {
        FoundMatrix& all = parts_.parameters[name];
        FoundMatrix both{columns.rows, all.columns + columns.columns, {}};
        for (std::int64_t row = 0; row < both.rows; ++row)
            for (const FoundMatrix* each : {&std::as_const(all), &columns}) {
                const auto begin = each->values.begin() + row * each->columns;
                both.values.insert(both.values.end(), begin, begin + each->columns);
            }
        all = std::move(both);
    }
    void linear_around(const RecordedStage& stage, const StageId& role, const std::string& name) {
        use(stage, role);
        linear(around_, {{}, nullptr, &stage}, name);
    }

    std::vector<double> row_parameter(const StagePair& at, std::size_t place) {
        if (place >= at.stage->parameters.size()) return {};
        const std::optional<NamedArray> found = parameter_(at.stage->parameters[place]);
        if (!found) refuse(at, std::string("is not understood: ") + kUnknownParameters);
        return values_as<double>(*found, step_.source());
    }

    /// Takes a norm's gain and shift; what it adds to the variance, and whether there is a mean, is what gives the recorded numbers of all.
    void norm(Follower& follower, const StagePair& at, const std::string& name) {
        const Numbers result = recorded(follower, at);
        NormRule rule{row_parameter(at, 0), row_parameter(at, 1)};
        try {
            if (!norms_.keep(*at.stage, follower.input(*at.stage, 0), result, rule))
                refuse(at, "is no norm that a model of ours has, or another one than those before it");
        } catch (const NotComputed& problem) {
            refuse(at, "is not understood: " + problem.why);
        }
        const std::int64_t columns = result.shape.back();
        parts_.parameters[name + ".weight"] = {1, columns,
                                               rule.gain.empty() ? std::vector<double>(static_cast<std::size_t>(columns), 1) : rule.gain};
        if (!rule.shift.empty()) parts_.parameters[name + ".bias"] = {1, columns, rule.shift};
    }
    void norm(const RecordedStage& stage, const StageId& role, const std::string& name) {
        use(stage, role);
        norm(around_, {{}, nullptr, &stage}, name);
    }
    void norm_of_layer(const RecordedStage& stage, const StageId& role) { norm(stage, role, of_layer(role.layer) + stage_name(role)); }

    // Layers.

    /// Whether two attentions are heads of one: they read the same, and one linear map reads both.
    static bool are_heads_of_one(const RecordedAttention& a, const RecordedAttention& b) {
        const RecordedStage *out = a.find("attention_out"), *other = b.find("attention_out");
        return a.cross == b.cross && out != nullptr && other != nullptr && out->parameters == other->parameters &&
               source_of(a) == source_of(b) && memory_of(a) == memory_of(b);
    }

    /// A cross-attention belongs to the layer of the attention before it, which makes that one a decoder's.
    void find_layers() {
        for (const RecordedAttention& each : graph_.attentions) expect_known(each);
        const std::span<const RecordedAttention> all = graph_.attentions;
        for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
            for (end = first + 1; end < all.size() && are_heads_of_one(all[first], all[end]);) ++end;
            const std::span<const RecordedAttention> heads = all.subspan(first, end - first);
            if (heads.front().cross) {
                if (layers_.empty() || !layers_.back().cross.empty())
                    refuse(heads.front(), "follows no attention of its own text in its layer");
                layers_.back().cross = heads;
            } else layers_.push_back({Stack::Main, heads, {}});
            if (heads.size() != layers_.front().own.size()) refuse(all[first], "has another number of heads than the first layer");
        }
        for (const RecordedAttention& each : all)
            if (each.size('H') != all[0].size('H')) refuse(each, "has another number of heads than the first attention");
        number_layers();
    }

    void number_layers() {
        const auto decodes = [](const LayerPlace& each) { return !each.cross.empty(); };
        if (std::none_of(layers_.begin(), layers_.end(), decodes)) return;
        for (LayerPlace& each : layers_) each.stack = decodes(each) ? Stack::Decoder : Stack::Encoder;
        for (std::size_t i = 1; i < layers_.size(); ++i)
            if (decodes(layers_[i - 1]) && !decodes(layers_[i]))
                refuse(layers_[i].own.front(), "has no cross-attention, unlike the layer before it");
    }

    std::int64_t layers_in(Stack stack) const {
        return std::count_if(layers_.begin(), layers_.end(), [stack](const LayerPlace& each) { return each.stack == stack; });
    }

    /// The layers of the encoder, and the result that the decoder's attentions read.
    void encoder() {
        stack_ = Stack::Encoder;
        const auto first = std::find_if(layers_.begin(), layers_.end(), [](const LayerPlace& each) { return !each.cross.empty(); });
        memory_ = memory_of(first->cross.front());
        if (first == layers_.begin()) {  // a decoder alone, which was given what it reads
            stream_ = memory_;
            use_what_leads_to(beginning());
            begin_with_vectors(beginning());
        }
        for (std::size_t i = 0; i < layers_.size(); ++i)
            if (layers_[i].stack == Stack::Encoder) layer(i);
        if (memory_ != stream_) {
            const RecordedStage* normed = norm_named(memory_);
            if (normed == nullptr || normed->inputs != std::vector{stream_})
                refuse(first->cross.front(), "reads something else than the encoder's result");
            parts_.config.final_norm = true;
            norm(*normed, ours(Stage::FinalNorm), of_stack("final_norm"));
        } else parts_.config.final_norm = false;
        stack_ = Stack::Decoder;
    }

    void layer(std::size_t i) {
        const LayerPlace& place = layers_[i];
        const RecordedAttention& attention = place.own.front();
        const int number = static_cast<int>(i - (stack_ == Stack::Decoder ? static_cast<std::size_t>(layers_in(Stack::Encoder)) : 0));
        LayerForm form;
        std::string after = attend(attention, source_of(attention), number, form);
        std::uint8_t last = kSelfAttention;
        if (!place.cross.empty()) {
            attend_to_memory(place.cross, number, form);
            last = kCrossAttention;
        }
        after = feed_forward(number, form.norm == NormPlacement::Pre, last, form);
        stream_ = form.norm == NormPlacement::Post || !form.feed_forward ? after : stream_;
        if (i == 0) form_ = form;
        else if (form != form_) refuse(attention, "stands in a layer that is put together differently from the first");
    }

    /// The attention to the encoder's result, which comes between a layer's own attention and its feed-forward network.
    void attend_to_memory(std::span<const RecordedAttention> heads, int number, LayerForm& form) {
        const RecordedAttention& attention = heads.front();
        if (memory_of(attention) != memory_) refuse(attention, "reads something else than the first cross-attention");
        const std::string source = source_of(attention), result = result_of(attention);
        const RecordedStage* sum = reader(result, "add");
        if ((sum != nullptr) != form.residual) refuse(attention, "is added differently from the attention before it");
        const RecordedStage* normed = norm_named(source);
        const bool is_normed = normed != nullptr && normed->inputs == std::vector{stream_};
        if (is_normed && (sum == nullptr || other_input(*sum, result) == source) && form.norm != NormPlacement::Pre) {
            form.norm = NormPlacement::Post;
            norm_of_layer(*normed, ours(Stage::Norm1, number));
            stream_ = source;
        } else if (is_normed) {
            norm_of_layer(*normed, ours(Stage::Norm1, number, kCrossAttention));
        }
        if ((form.norm == NormPlacement::Pre) != (source != stream_) || (sum != nullptr && other_input(*sum, result) != stream_))
            refuse(attention, "reads, or is added to, something else than in a layer of ours");
        take_attentions(heads, number);
        if (sum != nullptr) use(*sum, ours(Stage::Residual1, number, kCrossAttention));
        stream_ = sum != nullptr ? sum->name : result;
    }

    static std::string result_of(const RecordedAttention& attention) {
        const RecordedStage* out = attention.find("attention_out");
        return attention.name + "/" + (out != nullptr ? out->name : attention.find("concat") != nullptr ? "concat" : "context");
    }

    /// An attention with what stands before it in its layer. Returns what follows it.
    std::string attend(const RecordedAttention& attention, const std::string& source, int number, LayerForm& form) {
        const RecordedStage* out = attention.find("attention_out");
        form.output_projection = out != nullptr;
        const std::string result = result_of(attention);
        const RecordedStage* sum = reader(result, "add");
        form.residual = sum != nullptr;
        enter(source, sum == nullptr ? "" : other_input(*sum, result), number);
        take_attentions(layer_of(number).own, number);
        const bool pre = source != stream_;
        if (pre) {
            const RecordedStage* before = norm_named(source);
            if (before == nullptr || before->inputs != std::vector{stream_})
                refuse(attention, "reads something else than the sum that it is added to, or its norm");
            norm_of_layer(*before, ours(Stage::Norm1, number));
            form.norm = NormPlacement::Pre;
        }
        if (sum != nullptr) use(*sum, ours(Stage::Residual1, number));
        stream_ = sum != nullptr ? sum->name : result;
        return stream_;
    }

    /// Where the layers begin is known by what is added to the first attention's result.
    void enter(const std::string& source, const std::string& added, int number) {
        if (number > 0) {
            if (!added.empty() && added != stream_)
                throw Error(fmt::format("{} is added to a layer that does not read it", escaped(added, 0)));
            return;
        }
        const RecordedStage* first = norm_named(source);
        stream_ = !added.empty() ? added : first != nullptr && first->inputs.size() == 1 ? first->inputs[0] : source;
        if (stack_ != Stack::Main) {
            use_what_leads_to(beginning());
            return begin_with_vectors(beginning());
        }
        const RecordedStage* normed = norm_named(stream_);
        if (normed != nullptr && (normed->inputs.size() != 1 || around(normed->inputs[0]) == nullptr)) normed = nullptr;
        parts_.config.embedding_norm = normed != nullptr;
        if (normed != nullptr) norm(*normed, ours(Stage::EmbeddingNorm), "embedding_norm");
        embed(normed != nullptr ? normed->inputs[0] : stream_);
    }

    const LayerPlace& layer_of(int number) const {
        return layers_[static_cast<std::size_t>(number + (stack_ == Stack::Decoder ? layers_in(Stack::Encoder) : 0))];
    }

    void take_attentions(std::span<const RecordedAttention> heads, int number) {
        std::int64_t first_head = 0;
        for (const RecordedAttention& each : heads) {
            take_attention(each, number, heads.size() > 1 ? std::optional(first_head) : std::nullopt);
            first_head += each.size('H');
        }
    }

    void take_attention(const RecordedAttention& attention, int number, std::optional<std::int64_t> first_head) {
        Follower follower(graph_, attention, step_, parameter_);
        const std::uint8_t which = attention.cross ? kCrossAttention : kSelfAttention;
        const std::string prefix = of_layer(number) + (attention.cross ? "cross_attention." : "attention.");
        const auto place = [&](const char* name) { return attention.find(name) - attention.stages.data(); };
        const bool masks_first =
            attention.find("masked") != nullptr && attention.find("scaled") != nullptr && place("masked") < place("scaled");
        for (const RecordedStage& stage : attention.stages) {
            const StagePair at{ours(role_of(stage), number, which), &attention, &stage, first_head};
            if (stage.op == "rotate") rotated(follower, attention, at);
            if (stage.op == "norm") norm(follower, at, prefix + (stage.name == "q_normed" ? "q_norm" : "k_norm"));
            const bool is_out = stage.name == "attention_out", is_taken = is_out && first_head.value_or(0) > 0;
            if (stage.op == "linear" && !is_taken) linear(follower, at, prefix + (is_out ? "out" : stage.name));
            // Ahead of the query, where a mask hides them, code adds other numbers than our ALiBi.
            if (stage.name == "masked" && attention.find("masked.1") != nullptr) continue;
            // What is masked before it is scaled are other numbers than ours, though the weights are the same.
            if (masks_first && (stage.name == "masked" || stage.name == "scaled")) continue;
            parts_.stages.push_back(at);
        }
    }

    void rotated(Follower& follower, const RecordedAttention& attention, const StagePair& at) {
        if (attention.size('T') < 2) refuse(at, "turns nothing at the first position: record at least two");
        const StagePair before{{}, &attention, at.stage->inputs.size() == 1 ? attention.find(at.stage->inputs[0]) : nullptr};
        if (before.stage == nullptr) refuse(at, "is made of something that was not recorded");
        if (!rotation_.keep(recorded(follower, before), recorded(follower, at)))
            refuse(at, "rotates otherwise than a model of ours, or than the rotation before it");
    }

    /// What follows the attention in its layer: norms and feed-forward. `last` is the attention before it. Returns the layer's result.
    std::string feed_forward(int number, bool pre, std::uint8_t last, LayerForm& form) {
        const std::string attended = stream_;
        const RecordedStage* normed = reader(attended, "norm");
        const RecordedStage* hidden = hidden_of(attended);
        const bool reads_norm = hidden == nullptr && normed != nullptr;
        if (reads_norm) hidden = hidden_of(normed->name);
        if (hidden == nullptr) return without_feed_forward(number, pre, last, form, normed);
        form.feed_forward = true;
        const std::string result = through_feed_forward(*hidden, number, form);
        const RecordedStage* sum = reader(result, "add");
        if ((sum != nullptr) != form.residual)
            refuse(*hidden, "begins a feed-forward layer whose result is added differently from the attention's");
        const std::string added = sum == nullptr ? attended : other_input(*sum, result);
        if (sum != nullptr) use(*sum, ours(Stage::Residual2, number));
        stream_ = sum == nullptr ? result : sum->name;
        const bool post = reads_norm && !pre && (added == normed->name || sum == nullptr);
        if (post) {
            norm_of_layer(*normed, ours(Stage::Norm1, number, last));
            form.norm = NormPlacement::Post;
            const RecordedStage* second = reader(stream_, "norm");
            if (second == nullptr) refuse(*normed, "has no second norm after the feed-forward layer");
            norm_of_layer(*second, ours(Stage::Norm2, number));
            return second->name;
        }
        if (added != attended || reads_norm != pre) refuse(*hidden, "reads, or is added to, something else than in a layer of ours");
        if (pre) norm_of_layer(*normed, ours(Stage::Norm2, number));
        return stream_;
    }

    /// A norm behind the last attention belongs to its layer if there is none before it.
    std::string without_feed_forward(int number, bool pre, std::uint8_t last, LayerForm& form, const RecordedStage* normed) {
        if (pre || normed == nullptr) return stream_;
        const bool is_norm_of_next = number + 1 < layers_in(stack_) && reader(normed->name, "add") == nullptr;
        if (is_norm_of_next) return stream_;
        norm_of_layer(*normed, ours(Stage::Norm1, number, last));
        form.norm = NormPlacement::Post;
        return normed->name;
    }

    /// The linear map that reads `name` and leads to an activation; of a gated one, the gate.
    const RecordedStage* hidden_of(const std::string& name) const {
        for (const RecordedStage& each : graph_.around)
            if (each.op == "linear" && each.inputs == std::vector{name} && reader(each.name, "activation") != nullptr) return &each;
        return nullptr;
    }

    std::string through_feed_forward(const RecordedStage& first, int number, LayerForm& form) {
        const std::string prefix = of_layer(number);
        const RecordedStage& bent_stage = *reader(first.name, "activation");
        form.gated = bent_stage.inputs.size() == 2;
        const RecordedStage *hidden = form.gated ? around(bent_stage.inputs[1]) : &first, *gate = around(bent_stage.inputs[0]);
        const RecordedStage* out = reader(bent_stage.name, "linear");
        if (hidden == nullptr || gate == nullptr || out == nullptr) refuse(bent_stage, "stands between other operations than linear maps");
        if (form.gated) linear_around(*gate, ours(Stage::FfnGate, number), prefix + "ffn.gate");
        linear_around(*hidden, ours(Stage::FfnHidden, number), prefix + "ffn.in");
        activation(bent_stage, form.gated, number);
        linear_around(*out, ours(Stage::FfnOut, number), prefix + "ffn.out");
        return out->name;
    }

    void activation(const RecordedStage& stage, bool gated, int number) {
        const StagePair at{{}, nullptr, &stage};
        use(stage, ours(gated ? Stage::FfnGated : Stage::FfnActivation, number));
        const Numbers result = recorded(around_, at);
        try {
            std::optional<Numbers> factor;
            if (gated) factor = around_.input(stage, 1);
            if (!curves_.keep(around_.input(stage, 0), factor ? &*factor : nullptr, result))
                refuse(stage, "is no activation that a model of ours has, or another one than those before it");
        } catch (const NotComputed& problem) {
            refuse(stage, "is not understood: " + problem.why);
        }
    }

    // Before and after the layers.

    /// Whatever is made of what is looked up, such as positions, segments and patches of an image, becomes vectors, which are the words.
    /// Two texts may have tables of their own, where a model of ours has one for both.
    void begin_with_vectors(const RecordedStage& start) {
        use(start, ours(Stage::Embedding));
        vectors_.push_back(recorded(around_, {{}, nullptr, &start}));
        if (vectors_.back().axes != "BTC" || vectors_.back().shape.size() != 3)
            refuse(start, "has other axes than texts, positions and channels");
        parts_.config.position = PositionKind::None;
    }
    /// What the stream of a stack begins with.
    const RecordedStage& beginning() const {
        if (const RecordedStage* start = around(stream_)) return *start;
        throw Error(fmt::format("{} is not what the code was given, and nothing made of it", escaped(stream_, 0)));
    }
    void use_what_leads_to(const RecordedStage& stage) {
        for (const std::string& name : stage.inputs)
            if (const RecordedStage* before = around(name); before != nullptr && used_.insert(name).second) use_what_leads_to(*before);
    }

    void take_vectors() {
        if (vectors_.size() == 1) take(rows_by_content(vectors_[0]));
        else if (vectors_[0].shape[2] == vectors_[1].shape[2]) take(rows_of_both(vectors_[0], vectors_[1], parts_.source));
        else throw Error("the vectors of the encoder and of the decoder have different lengths");
        parts_.of_vectors = true;
    }

    /// Whether a model of ours makes it of tokens, perhaps with positions, or the code was given it.
    bool is_looked_up(const RecordedStage& start) const {
        const auto is_row = [this](const RecordedStage* each) {
            if (each != nullptr && each->op == "scale") each = each->inputs.size() == 1 ? around(each->inputs[0]) : nullptr;
            return each != nullptr && each->op == "embedding";
        };
        if (start.op != "add") return is_row(&start) || is_given(&start);
        if (start.inputs.size() != 2) return false;
        const bool first = start.inputs[0].starts_with("position_embedding");
        return first != start.inputs[1].starts_with("position_embedding") &&
               (is_row(around(start.inputs[first ? 1 : 0])) || is_given(around(start.inputs[first ? 1 : 0])));
    }
    static bool is_given(const RecordedStage* each) {
        return each != nullptr && each->op == "given" && (each->called.empty() || each->called == "given");
    }

    void embed(const std::string& name) {
        const RecordedStage* start = around(name);
        if (start == nullptr) throw Error(fmt::format("{} is no embedding, and not what the code was given", escaped(name, 0)));
        const RecordedStage* tokens = start;
        parts_.config.position = PositionKind::None;
        if (!is_looked_up(*start)) {
            for (auto before = graph_.around.begin(); &*before != start; ++before) used_.insert(before->name);
            begin_with_vectors(*start);
            return take_vectors();
        }
        if (start->op == "add") tokens = with_positions(*start);
        if (tokens->op == "scale") tokens = enlarged(*tokens);
        const bool given = tokens->op == "given";
        if (parts_.config.embedding_factor == 1) use(*tokens, ours(given ? Stage::Embedding : Stage::TokenEmbedding));
        const Numbers rows = recorded(around_, {{}, nullptr, tokens});
        if (rows.shape.size() < 2) refuse(*tokens, "has no axis of positions");
        parts_.of_vectors = given;
        if (given) {
            take(rows_by_content(rows));
            return;
        }
        const std::optional<NamedArray> table = tokens->parameters.empty() ? std::nullopt : parameter_(tokens->parameters[0]);
        if (!table || table->shape.size() != 2 || table->shape[1] != rows.shape.back())
            refuse(*tokens, std::string("is not understood: ") + kUnknownParameters);
        table_ = tokens->parameters[0];
        std::optional<EmbeddedRows> found = rows_in_table(rows, values_as<double>(*table, step_.source()));
        if (!found) refuse(*tokens, "has a row that is not in its table");
        take(std::move(*found));
    }

    void take(EmbeddedRows rows) {
        parts_.tokens = std::move(rows.tokens);
        parts_.config.d_model = rows.width;
        parts_.config.vocab_size = static_cast<std::int64_t>(rows.table.size()) / rows.width;
        parts_.parameters["token_embedding.weight"] = {parts_.config.vocab_size, rows.width, std::move(rows.table)};
    }

    /// Rows that are multiplied by a number; returns the rows of the table. Our model has only the product as a stage.
    const RecordedStage* enlarged(const RecordedStage& scaled) {
        const RecordedStage* rows = scaled.inputs.size() == 1 ? around(scaled.inputs[0]) : nullptr;
        if (rows == nullptr || !std::isfinite(scaled.by)) refuse(scaled, "is not understood: its factor is not known");
        parts_.config.embedding_factor = scaled.by;
        use(scaled, ours(Stage::TokenEmbedding));
        used_.insert(rows->name);
        return rows;
    }

    /// Takes the table of positions; returns the tokens' embedding.
    const RecordedStage* with_positions(const RecordedStage& sum) {
        const RecordedStage *tokens = nullptr, *positions = nullptr;
        for (const std::string& name : sum.inputs)
            if (const RecordedStage* each = around(name)) (name.starts_with("position_embedding") ? positions : tokens) = each;
        if (tokens == nullptr || positions == nullptr || sum.inputs.size() != 2)
            refuse(sum, "adds something else than a row for each token and one for each position");
        use(sum, ours(Stage::Embedding));
        use(*positions, ours(Stage::PositionEmbedding));
        take_positions(*positions);
        return tokens;
    }

    /// A table of positions that is no parameter is taken as far as it was recorded, unless it is that of sines and cosines.
    void take_positions(const RecordedStage& positions) {
        const StagePair at{{}, nullptr, &positions};
        const Numbers rows = recorded(around_, at);
        const std::int64_t width = rows.shape.back();
        Config& config = parts_.config;
        config.position = PositionKind::Learned;
        if (positions.parameters.empty()) {
            if (rows.size('B') != 1) refuse(at, "differs between texts");
            if (is_sines_and_cosines(rows)) {
                config.position = PositionKind::Sinusoidal;
                return;
            }
            parts_.parameters["position_embedding.weight"] = {rows.count() / width, width, rows.values};
        } else {
            const std::optional<NamedArray> table = parameter_(positions.parameters[0]);
            if (!table || table->shape.empty() || table->shape.back() != width)
                refuse(at, std::string("is not understood: ") + kUnknownParameters);
            parts_.parameters["position_embedding.weight"] = {table->count() / width, width, values_as<double>(*table, step_.source())};
        }
        config.context_length = parts_.parameters["position_embedding.weight"].rows;
    }

    void head() {
        Config& config = parts_.config;
        const RecordedStage* normed = reader(stream_, "norm");
        if (layers_in(Stack::Encoder) > 0 && config.final_norm != (normed != nullptr))
            throw Error(
                "the encoder ends with a norm, and the decoder does not, or the other way round: those of a model of ours are alike");
        if (normed != nullptr && !is_of_all_positions(*normed)) {  // of the last position alone, as code has it that writes
            config.final_norm = config.lm_head = false;
            return leave_out_what_reads(stream_);
        }
        config.final_norm = normed != nullptr;
        if (normed != nullptr) norm(*normed, ours(Stage::FinalNorm), of_stack("final_norm"));
        const std::string& last = normed != nullptr ? normed->name : stream_;
        const RecordedStage* logits = reader(last, "linear");
        config.lm_head = logits != nullptr && stack_ == Stack::Main && gives_words(*logits);
        if (logits == nullptr) return leave_out_what_was_pooled();
        if (!config.lm_head) return leave_out_what_reads(last);
        linear_around(*logits, ours(Stage::Logits), "lm_head");
        config.tied_lm_head = logits->parameters[0] == table_;
        if (config.tied_lm_head) parts_.parameters.erase("lm_head.weight");
        config.lm_head_bias = parts_.parameters.contains("lm_head.bias");
    }

    const NamedArray* header_of(const RecordedStage& stage) const { return step_.find(stage.name); }
    bool is_of_all_positions(const RecordedStage& stage) const {
        const NamedArray* header = header_of(stage);
        return header == nullptr || header->shape.size() < 2 || header->shape[header->shape.size() - 2] == parts_.tokens.length ||
               stack_ != Stack::Main;
    }
    /// Whether a linear map after the layers gives a number for each word at each position.
    bool gives_words(const RecordedStage& logits) const {
        const NamedArray* header = header_of(logits);
        return !parts_.of_vectors && is_of_all_positions(logits) &&
               (header == nullptr || header->shape.empty() || header->shape.back() == parts_.config.vocab_size);
    }
    /// A map of something that was made of all positions, such as their mean, and all that follows it.
    void leave_out_what_was_pooled() {
        const auto is_pooled = [this](const RecordedStage& each) {
            return each.op == "linear" && each.inputs.empty() && !used_.contains(each.name);
        };
        for (auto each = std::find_if(graph_.around.begin(), graph_.around.end(), is_pooled); each != graph_.around.end(); ++each) {
            used_.insert(each->name);
            parts_.without_head = true;
        }
    }
    /// A head that ours is not, and all that follows it.
    void leave_out_what_reads(const std::string& last) {
        parts_.without_head = true;
        std::set<std::string> after{last};
        for (const RecordedStage& each : graph_.around)
            if (std::any_of(each.inputs.begin(), each.inputs.end(), [&](const std::string& input) { return after.contains(input); }) &&
                !used_.contains(each.name)) {
                after.insert(each.name);
                used_.insert(each.name);
            }
    }

    /// Nothing that was computed may be missing in our model. Packed projections are recorded a second time, as a whole.
    void expect_all_used() const {
        std::set<std::string> projections;
        for (const RecordedAttention& attention : graph_.attentions)
            for (const char* name : {"q", "k", "v"}) projections.insert(attention.find(name)->parameters[0]);
        for (const RecordedStage& each : graph_.around) {
            const bool whole_projection = each.op == "linear" && !each.parameters.empty() && projections.contains(each.parameters[0]);
            if (used_.contains(each.name) || each.name.starts_with("inputs/") || each.name.starts_with("loss") || whole_projection)
                continue;
            refuse(each, "has no place in a model of ours");
        }
    }

    bool has(std::string_view ending) const {
        return std::any_of(parts_.parameters.begin(), parts_.parameters.end(),
                           [&](const auto& each) { return each.first.ends_with(ending); });
    }

    void settle_sizes() {
        Config& config = parts_.config;
        const RecordedAttention& first = graph_.attentions.front();
        const bool of_two = stack_ == Stack::Decoder;
        config.num_layers = layers_in(stack_);
        const std::int64_t encoder_layers = layers_in(Stack::Encoder);
        if (of_two && encoder_layers != config.num_layers) config.encoder_layers = encoder_layers == 0 ? kNoLayers : encoder_layers;
        const auto beside = static_cast<std::int64_t>(layers_.front().own.size());
        config.num_heads = beside * first.size('H');
        config.num_kv_heads = first.size('G') == first.size('H') ? 0 : beside * first.size('G');
        config.d_head = config.num_heads * first.size('D') == config.d_model ? 0 : first.size('D');
        if (form_.feed_forward) config.d_ff = parts_.parameters.at(of_layer(0) + "ffn.in.weight").columns;
        if (const auto encoder = parts_.parameters.find("encoder.layers.0.ffn.in.weight");
            encoder != parts_.parameters.end() && encoder->second.columns != config.d_ff)
            config.encoder_ff = encoder->second.columns;
        config.output_projection = form_.output_projection;
        config.residual = form_.residual;
        config.feed_forward = form_.feed_forward;
        config.ffn_gated = form_.gated;
        config.norm = form_.norm;
        config.qkv_bias = has("attention.q.bias") || has("attention.k.bias") || has("attention.v.bias");
        config.output_bias = has("attention.out.bias");
        config.ffn_bias = has("ffn.in.bias") || has("ffn.out.bias") || has("ffn.gate.bias");
        if (const NormForm* norm = norms_.best()) {
            config.norm_kind = norm->has_mean ? NormKind::LayerNorm : NormKind::Rms;
            config.layer_norm_eps = norm->eps;
        }
        config.activation = curves_.best();
        config.any_length = config.position != PositionKind::Learned;
        settle_scores(first);
    }

    void settle_scores(const RecordedAttention& first) {
        Config& config = parts_.config;
        const RecordedStage* capped = first.find("capped");
        config.score_cap = capped == nullptr ? 0 : capped->by;
        const double usual = 1 / std::sqrt(static_cast<double>(first.size('D')));
        config.score_factor = std::abs(*first.scale / usual - 1) < 1e-6 ? 0 : *first.scale;
        for (const RecordedAttention& each : graph_.attentions)
            if (std::abs(*each.scale - *first.scale) > 1e-6 * std::abs(*first.scale))
                refuse(each, "scales its scores by another number than the first attention");
    }

    /// A decoder of ours is causal, an encoder is not, padding stands at the end, and there is no other mask.
    void settle_masks() {
        if (stack_ == Stack::Decoder) return settle_masks_of_two();
        std::optional<MaskForm> first;
        std::vector<LayerKind> kinds;
        for (const LayerPlace& layer : layers_) {
            std::optional<std::int64_t> window;
            for (const RecordedAttention& attention : layer.own) {
                const MaskForm own = mask_of(graph_, attention, step_, parameter_);
                if (!first) first = own;
                if (own.causal != first->causal || own.lengths != first->lengths || own.window != window.value_or(own.window))
                    refuse(attention, "has another mask than the first attention");
                window = own.window;
            }
            kinds.push_back({.window = *window});
        }
        if (std::any_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return kind.window > 0; }))
            parts_.config.layer_kinds = std::move(kinds);
        parts_.config.architecture = first->causal ? Architecture::DecoderOnly : Architecture::Encoder;
        parts_.causal = first->causal;
        if (!first->lengths.empty()) parts_.tokens.lengths = first->lengths;
    }

    /// The encoder's attentions and those that read its result hide the padding of the source, the decoder's own that of its text.
    void settle_masks_of_two() {
        std::optional<MaskForm> own, other;
        const auto expect = [&](const RecordedAttention& attention, std::optional<MaskForm>& first) {
            const MaskForm form = mask_of(graph_, attention, step_, parameter_);
            if (!first) first = form;
            if (form != *first || form.window != 0) refuse(attention, "has another mask than the first attention of its kind");
            if (form.causal && &first == &other)
                refuse(attention, "hides keys by their number from queries of another text, or in an encoder");
        };
        for (const LayerPlace& layer : layers_) {
            for (const RecordedAttention& each : layer.own) expect(each, layer.stack == Stack::Encoder ? other : own);
            for (const RecordedAttention& each : layer.cross) expect(each, other);
        }
        parts_.config.architecture = Architecture::EncoderDecoder;
        parts_.causal = own->causal;
        if (!own->lengths.empty()) parts_.tokens.lengths = own->lengths;
        if (!other->lengths.empty()) parts_.source.lengths = other->lengths;
    }

    /// Of what may be added to the scores, only ALiBi has a place in a model of ours, as the comparison will show.
    void settle_bias() {
        std::optional<bool> biased;
        for (const RecordedAttention& each : graph_.attentions) {
            const bool own = is_biased(graph_, each, step_, parameter_);
            if (each.cross && own) refuse(each, "adds something to the scores of a cross-attention");
            if (each.cross) continue;
            if (own != biased.value_or(own)) refuse(each, "adds something to its scores, or does not, unlike the first attention");
            biased = own;
        }
        if (!*biased) return;
        if (parts_.config.position != PositionKind::None) throw Error("positions are added to the scores, and elsewhere as well");
        parts_.config.position = PositionKind::Alibi;
    }

    void settle_head_norms() {
        const bool normed = graph_.attentions.front().find("q_normed") != nullptr;
        for (const RecordedAttention& each : graph_.attentions)
            if ((each.find("q_normed") != nullptr) != (normed && !each.cross))
                refuse(each, "norms queries and keys, or does not, unlike the first attention");
        if (!normed) return;
        parts_.config.qk_norm = QueryKeyNorm::PerHead;
        if (has("q_norm.bias") || has("k_norm.bias"))
            throw Error("the norms of queries and keys have a shift, which those of a model of ours do not have");
    }

    void settle_rotation() {
        const std::optional<RotationForm>& form = rotation_.form();
        const bool rotates = graph_.attentions.front().find("q_rotated") != nullptr;
        for (const RecordedAttention& each : graph_.attentions)
            if ((each.find("q_rotated") != nullptr) != (rotates && !each.cross))
                refuse(each, "rotates queries and keys, or does not, unlike the first attention");
        if (!rotates) return;
        Config& config = parts_.config;
        if (config.position != PositionKind::None) throw Error("positions are added to the embedding, and rotate queries and keys as well");
        config.position = PositionKind::Rotary;
        config.rotary_base = form->base;
        config.rotary_size = form->size == config.head_size() ? 0 : form->size;
        if (form->neighbours) pair_halves(*form);
    }

    /// A model of ours pairs a head's numbers in another way. In this order its queries and keys are other numbers, their products the
    /// same.
    void pair_halves(const RotationForm& form) {
        constexpr std::array kReordered = {Stage::Q, Stage::K, Stage::QNormed, Stage::KNormed, Stage::QRotated, Stage::KRotated};
        std::erase_if(parts_.stages, [&](const StagePair& pair) {
            return std::find(kReordered.begin(), kReordered.end(), pair.ours.stage) != kReordered.end();
        });
        constexpr std::array<std::string_view, 4> kQueriesAndKeys = {"attention.q.", "attention.k.", "attention.q_norm.",
                                                                     "attention.k_norm."};
        const std::int64_t head = parts_.config.head_size();
        const std::vector<std::int64_t> places = halves_of_neighbours(form, head);
        for (auto& [name, matrix] : parts_.parameters) {
            const bool reordered = std::any_of(kQueriesAndKeys.begin(), kQueriesAndKeys.end(),
                                               [&whole = name](std::string_view part) { return whole.find(part) != std::string::npos; });
            if (!reordered) continue;
            const std::vector<double> before = matrix.values;
            for (std::size_t i = 0; i < before.size(); ++i) {
                const auto column = static_cast<std::int64_t>(i) % head;
                matrix.values[i - static_cast<std::size_t>(column) + static_cast<std::size_t>(places[static_cast<std::size_t>(column)])] =
                    before[i];
            }
        }
    }

    const RecordedAttention nobody_;  ///< whose stages are those around the attentions
    const RecordedGraph& graph_;
    const RecordedStep& step_;
    const FindParameter& parameter_;
    Follower around_;
    ModelParts parts_;
    std::vector<LayerPlace> layers_;  ///< of an encoder-decoder first those of the encoder
    Stack stack_ = Stack::Main;       ///< the one that is looked at
    std::string memory_;              ///< the encoder's result
    std::vector<Numbers> vectors_;    ///< what encoder and decoder begin with
    LayerForm form_;                  ///< of the first layer
    std::string stream_;              ///< the sum that the layers add to, as far as they were read
    std::string table_;               ///< parameter of the tokens' embedding
    std::set<std::string> used_;      ///< stages around the attentions that our model has
    KnownRotation rotation_;
    KnownNorms norms_;
    KnownCurves curves_;
};

}  // namespace

ModelParts find_model_parts(const RecordedGraph& graph, const RecordedStep& step, const FindParameter& parameter) {
    return ModelFinder(graph, step, parameter).find();
}

}  // namespace attn::recording
