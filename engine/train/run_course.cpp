#include "engine/train/run_course.hpp"

#include <utility>

#include "engine/train/run_json.hpp"

namespace attn {
namespace {

constexpr std::size_t kLongestOriginName = 60;

}  // namespace

bool same_but_for_end(const RunSettings& a, const RunSettings& b) {
    RunSettings alike = a;
    alike.stop = b.stop;
    alike.train.schedule.total_steps = b.train.schedule.total_steps;
    alike.train.schedule.continued = b.train.schedule.continued;
    return alike == b;
}

Json to_json(const RunCourse& course) {
    Json changes = Json::list();
    for (const SettingsChange& change : course.changes) changes.push_back({{"step", change.step}, {"settings", to_json(change.settings)}});
    Json object{{"begun", to_json(course.begun)}, {"changes", std::move(changes)}};
    if (const auto& origin = course.origin) object["origin"] = {{"run", origin->run}, {"step", origin->step}, {"name", origin->name}};
    return object;
}

RunCourse run_course_from_json(JsonObject object, std::int64_t steps) {
    RunCourse course{run_settings_from_json(object.object("begun"))};
    if (auto from = object.optional_object("origin")) {
        RunOrigin& origin = course.origin.emplace();
        origin.from_earlier = true;
        if (!from->read("run", origin.run)) from->fail_missing("run");
        if (!from->read("step", origin.step, 0, steps)) from->fail_missing("step");
        from->read("name", origin.name);
        origin.name = escaped(origin.name, kLongestOriginName);  // it is shown
        from->expect_no_more();
    }
    std::int64_t least = 0;
    for (JsonObject& change : object.objects("changes")) {
        SettingsChange& made = course.changes.emplace_back();
        if (!change.read("step", made.step, least, steps)) change.fail_missing("step");
        least = made.step + 1;
        made.settings = run_settings_from_json(change.object("settings"));
        change.expect_no_more();
    }
    object.expect_no_more();
    return course;
}

}  // namespace attn
