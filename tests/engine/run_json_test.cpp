#include "engine/train/run_json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

RunSettings other_than_default() {
    RunSettings run;
    run.task = {TaskKind::Sort, 5, 9, 0.25, "a text.txt", nullptr, 3};
    run.model.d_model = 48;
    run.model.norm = NormPlacement::Post;
    run.seed = ~std::uint64_t{0};
    run.train.adamw = {0.8, 0.9, 1e-7, 0.3, true};
    run.train.schedule = {ScheduleKind::Cosine, 0.1 + 0.2, 1e-5, 7, 77};
    run.train.clip_norm = 0.5;
    run.train.forward.masks.causal = true;
    run.train.forward.dropout = {0.1, 0.2, 0.3, 4};
    run.train.forward.mistake = Mistake::NoScale;
    run.from = "my/model";
    run.batch_size = 3;
    run.evaluate_every = 4;
    run.stop = {1, 2.5, 0.75, 6};
    return run;
}

void refused(const std::string& text, FileFault fault, const std::string& place) {
    test::expect_refused(text.substr(0, 80), fault, "run.json" + place, std::size_t{1} << 20,
                         [&] { run_settings_from_json(text, "run.json"); });
}

nlohmann::json parsed(const RunSettings& settings) { return nlohmann::json::parse(to_json(settings).dump()); }

/// Calls visit(pointer, value) for everything that is neither an object nor a list.
void each_leaf(const nlohmann::json& value, const std::string& pointer, const std::function<void(const std::string&)>& visit) {
    if (!value.is_object()) return visit(pointer);
    for (const auto& [key, child] : value.items()) each_leaf(child, pointer + "/" + key, visit);
}

TEST(RunJson, EveryFieldSurvives) {
    const RunSettings run = other_than_default();
    EXPECT_EQ(run_settings_from_json(to_json(run).dump(), "c"), run);
    EXPECT_EQ(run_settings_from_json("{}", "c"), RunSettings{});
    EXPECT_EQ(run_settings_from_json("{}", "c", run), run) << "what is missing stays as in the base";
    EXPECT_EQ(run_settings_from_json(to_json(RunSettings{}).dump(), "c", run), RunSettings{});
    // Every JSON field matters: changing it alone changes the settings, and leaving it out keeps the base's value.
    const nlohmann::json plain = parsed(RunSettings{}), changed = parsed(run);
    int leaves = 0;
    each_leaf(changed, "", [&](const std::string& pointer) {
        ++leaves;
        const nlohmann::json::json_pointer place(pointer);
        if (changed.at(place) == plain.at(place)) return;
        nlohmann::json one = plain;
        one.at(place) = changed.at(place);
        EXPECT_FALSE(run_settings_from_json(one.dump(), "c") == RunSettings{}) << pointer;
    });
    EXPECT_EQ(leaves, 60) << "a field was added: write and read it, and count it here";
}

TEST(RunJson, SettingsWithoutTheNewerPartsMeanWhatTheyMeant) {
    // As runs were written before tasks had several lengths and schedules could be continued.
    const RunSettings run = run_settings_from_json(
        R"({"task": {"kind": "copy", "length": 8, "symbols": 16, "validation_share": 0.1, "text_name": ""},
            "train": {"schedule": {"kind": "cosine", "rate": 0.003, "last_rate": 0, "warm_up_steps": 20, "total_steps": 1000}}})",
        "c");
    EXPECT_EQ(run.task.shortest, 0);
    EXPECT_EQ(shortest_length(run.task), 8) << "one length";
    EXPECT_EQ(run.train.schedule.continued, std::nullopt);
    EXPECT_EQ(to_json(run).find("train")->find("schedule")->find("continued"), nullptr);
}

TEST(RunJson, AContinuationIsWholeOrNotThere) {
    RunSettings continued = other_than_default();
    continued.train.schedule.continued = Continuation{5, 0.7};
    EXPECT_EQ(run_settings_from_json(to_json(continued).dump(), "c"), continued);
    for (const char* part : {R"({})", R"({"from_step": 3})", R"({"from_rate": 0.1})", R"({"from_step": -1, "from_rate": 0.1})",
                             R"({"from_step": 1, "from_rate": -0.1})", R"({"from_step": 1, "from_rate": 0.1, "more": 1})", "3"})
        EXPECT_THROW(run_settings_from_json(std::string(R"({"train": {"schedule": {"continued": )") + part + "}}}", "c"), FileError)
            << part;
}

TEST(RunJson, PartsOfPartsKeepTheBase) {
    RunSettings base = other_than_default();
    const RunSettings run = run_settings_from_json(
        R"({"model": {"num_layers": 3}, "train": {"schedule": {"rate": 0.5}, "forward": {"masks": {"window": 4}}}})", "c", base);
    base.model.num_layers = 3;
    base.train.schedule.rate = 0.5;
    base.train.forward.masks.window = 4;
    EXPECT_EQ(run, base);
}

TEST(RunJson, RefusesWhatItDoesNotKnow) {
    refused(R"({"batch": 4})", FileFault::Schema,
            ", /batch: there is no such field; expected one of batch_size, evaluate_every, from, model, seed, stop");
    refused(R"({"task": {"name": "copy"}})", FileFault::Schema, ", /task/name");
    refused(R"({"train": {"schedule": {"lr": 1}}})", FileFault::Schema, ", /train/schedule/lr");
    refused(R"({"train": {"forward": {"dropout": {"rate": 1}}}})", FileFault::Schema, ", /train/forward/dropout/rate");
    refused(R"({"stop": {"steps": 1, "steps": 2}})", FileFault::Duplicate, "");
    refused("", FileFault::Format, "");
    refused("[]", FileFault::Format, "");
    refused(R"({"stop": [1]})", FileFault::Format, ", /stop");
}

TEST(RunJson, RefusesWrongTypesAndNumbersOfEveryField) {
    each_leaf(parsed(RunSettings{}), "", [](const std::string& pointer) {
        for (const char* wrong : {"null", "{}", "[\"x\"]", "1e400"}) {
            nlohmann::json one = parsed(RunSettings{});
            one.at(nlohmann::json::json_pointer(pointer)) = "PLACE";
            std::string text = one.dump();
            text.replace(text.find("\"PLACE\""), 7, wrong);
            EXPECT_THROW(run_settings_from_json(text, "run.json"), FileError) << pointer << " = " << wrong;
        }
    });
    refused(R"({"batch_size": -1})", FileFault::Range, ", /batch_size");
    refused(R"({"batch_size": 2.5})", FileFault::Range, ", /batch_size");
    refused(R"({"batch_size": "2"})", FileFault::Format, ", /batch_size");
    refused(R"({"stop": {"accuracy": 1.5}})", FileFault::Range, ", /stop/accuracy");
    refused(R"({"train": {"schedule": {"rate": -1}}})", FileFault::Range, ", /train/schedule/rate");
    refused(R"({"train": {"schedule": {"kind": "exponential"}}})", FileFault::Range, ", /train/schedule/kind");
    refused(R"({"train": {"adamw": {"beta1": NaN}}})", FileFault::Format, "");
}

TEST(RunJson, DoesNotWriteWhatJsonCannotHold) {
    RunSettings run;
    run.train.schedule.rate = std::numeric_limits<double>::infinity();
    EXPECT_THROW(to_json(run), ConfigError);
    run.train.schedule.rate = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(to_json(run), ConfigError);
}

}  // namespace
}  // namespace attn
