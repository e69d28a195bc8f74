#include "engine/train/run_json.hpp"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/json_fields.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/own_bpe.hpp"
#include "engine/trace/settings_json.hpp"

namespace attn {
namespace {

// In enumerator order.
constexpr std::array<std::string_view, 3> kSchedules = {"constant", "linear", "cosine"};

constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;  // the largest integer that other JSON readers represent exactly
constexpr double kMaxNumber = std::numeric_limits<double>::max();

Json to_json(const NewWords& words) {
    return {{"places", words.places},
            {"stories", finite("new_words.stories", words.stories)},
            {"names_and_toys", finite("new_words.names_and_toys", words.names_and_toys)},
            {"other_words", finite("new_words.other_words", words.other_words)}};
}

Json to_json(const TaskSettings& task) {
    Json object{{"kind", task_info(task.kind).name},
                {"length", task.length},
                {"shortest", task.shortest},
                {"symbols", task.symbols},
                {"validation_share", finite("validation_share", task.validation_share)},
                {"text_name", task.text_name}};
    if (task.new_words != NewWords{}) object["new_words"] = to_json(task.new_words);
    if (task.tokenizer == TokenizerKind::Character) return object;
    object["tokenizer"] = tokenizer_name(task.tokenizer);
    object["vocab"] = task.vocab;
    return object;
}

Json to_json(const Schedule& schedule) {
    Json object{{"kind", name_of(kSchedules, schedule.kind)},
                {"rate", finite("rate", schedule.rate)},
                {"last_rate", finite("last_rate", schedule.last_rate)},
                {"warm_up_steps", schedule.warm_up_steps},
                {"total_steps", schedule.total_steps}};
    if (const auto& continued = schedule.continued)
        object["continued"] = {{"from_step", continued->from_step}, {"from_rate", finite("continued.from_rate", continued->from_rate)}};
    return object;
}

Json to_json(const TrainSettings& train) {
    const AdamwSettings& adamw = train.adamw;
    return {{"adamw",
             {{"beta1", finite("beta1", adamw.beta1)},
              {"beta2", finite("beta2", adamw.beta2)},
              {"eps", finite("eps", adamw.eps)},
              {"weight_decay", finite("weight_decay", adamw.weight_decay)},
              {"decay_everything", adamw.decay_everything}}},
            {"schedule", to_json(train.schedule)},
            {"clip_norm", finite("clip_norm", train.clip_norm)},
            {"forward", attn::to_json(train.forward)}};
}

Json to_json(const StopAt& stop) {
    return {{"steps", stop.steps},
            {"loss", finite("stop.loss", stop.loss)},
            {"accuracy", finite("stop.accuracy", stop.accuracy)},
            {"plateau", stop.plateau}};
}

void read_new_words(JsonObject object, NewWords& words) {
    object.read("places", words.places, 0, kMostPlaces);
    object.read("stories", words.stories, 0, 1);
    object.read("names_and_toys", words.names_and_toys, 0, 1);
    object.read("other_words", words.other_words, 0, 1);
    object.expect_no_more();
}

void read_task(JsonObject object, TaskSettings& task) {
    std::vector<std::string_view> names;
    for (const TaskInfo& info : tasks()) names.emplace_back(info.name);
    std::size_t index = 0;
    if (object.read_choice("kind", names, index)) task.kind = tasks()[index].kind;
    object.read("length", task.length, 0, kMaxCount);
    object.read("shortest", task.shortest, 0, kMaxCount);
    object.read("symbols", task.symbols, 0, kMaxCount);
    object.read("validation_share", task.validation_share, 0, 1);
    object.read("text_name", task.text_name);
    constexpr std::array<std::string_view, 2> kTaskTokenizers = {"character", "bpe"};
    std::size_t tokenizer = 0;
    if (object.read_choice("tokenizer", kTaskTokenizers, tokenizer))
        task.tokenizer = tokenizer == 0 ? TokenizerKind::Character : TokenizerKind::Bpe;
    object.read("vocab", task.vocab, kByteTokens, kMostOwnTokens);
    if (auto part = object.optional_object("new_words")) read_new_words(std::move(*part), task.new_words);
    object.expect_no_more();
}

void read_adamw(JsonObject object, AdamwSettings& adamw) {
    object.read("beta1", adamw.beta1, 0, 1);
    object.read("beta2", adamw.beta2, 0, 1);
    object.read("eps", adamw.eps, 0, kMaxNumber);
    object.read("weight_decay", adamw.weight_decay, 0, kMaxNumber);
    object.read("decay_everything", adamw.decay_everything);
    object.expect_no_more();
}

void read_schedule(JsonObject object, Schedule& schedule) {
    read_enum(object, "kind", kSchedules, schedule.kind);
    object.read("rate", schedule.rate, 0, kMaxNumber);
    object.read("last_rate", schedule.last_rate, 0, kMaxNumber);
    object.read("warm_up_steps", schedule.warm_up_steps, 0, kMaxCount);
    object.read("total_steps", schedule.total_steps, 0, kMaxCount);
    if (auto part = object.optional_object("continued")) {
        Continuation continued;
        if (!part->read("from_step", continued.from_step, 0, kMaxCount)) part->fail_missing("from_step");
        if (!part->read("from_rate", continued.from_rate, 0, kMaxNumber)) part->fail_missing("from_rate");
        part->expect_no_more();
        schedule.continued = continued;
    }
    object.expect_no_more();
}

void read_train(JsonObject object, TrainSettings& train) {
    if (auto part = object.optional_object("adamw")) read_adamw(std::move(*part), train.adamw);
    if (auto part = object.optional_object("schedule")) read_schedule(std::move(*part), train.schedule);
    object.read("clip_norm", train.clip_norm, 0, kMaxNumber);
    if (auto part = object.optional_object("forward"))
        train.forward = forward_settings_from_json(std::move(*part), std::move(train.forward));
    object.expect_no_more();
}

void read_stop(JsonObject object, StopAt& stop) {
    object.read("steps", stop.steps, 0, kMaxCount);
    object.read("loss", stop.loss, 0, kMaxNumber);
    object.read("accuracy", stop.accuracy, 0, 1);
    object.read("plateau", stop.plateau, 0, kMaxCount);
    object.expect_no_more();
}

}  // namespace

Json to_json(const RunSettings& settings) {
    return {{"task", to_json(settings.task)},
            {"model", to_json(settings.model)},
            {"seed", settings.seed},
            {"train", to_json(settings.train)},
            {"batch_size", settings.batch_size},
            {"evaluate_every", settings.evaluate_every},
            {"stop", to_json(settings.stop)},
            {"from", settings.from}};
}

RunSettings run_settings_from_json(JsonObject object, RunSettings settings) {
    if (auto part = object.optional_object("task")) read_task(std::move(*part), settings.task);
    if (auto part = object.optional_object("model")) settings.model = config_from_json(std::move(*part), settings.model);
    object.read("from", settings.from);
    object.read("seed", settings.seed);
    if (auto part = object.optional_object("train")) read_train(std::move(*part), settings.train);
    object.read("batch_size", settings.batch_size, 0, kMaxCount);
    object.read("evaluate_every", settings.evaluate_every, 0, kMaxCount);
    if (auto part = object.optional_object("stop")) read_stop(std::move(*part), settings.stop);
    object.expect_no_more();
    return settings;
}

RunSettings run_settings_from_json(std::string_view text, std::string_view source, RunSettings base) {
    return run_settings_from_json(JsonObject(text, source), std::move(base));
}

}  // namespace attn
