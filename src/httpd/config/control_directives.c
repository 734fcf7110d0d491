#include "httpd/config/control_directives.h"

#include "httpd/config/arguments.h"
#include "httpd/base/records.h"
#include "httpd/config/settings.h"

static el_server_t *server_config(const cmd_parms *cmd)
{
    return el_record_settings(EL_RECORD_ELASTIC, cmd->server->module_config);
}

const char *el_set_control(cmd_parms *cmd, void *config, const char *args)
{
    static const struct {
        const char *word;
        el_control_mode_t mode;
        bool external;
    } rows[] = {
        {"step", EL_CONTROL_STEP, false},
        {"mix", EL_CONTROL_MIX, false},
        {"predict", EL_CONTROL_PREDICT, false},
        {"external", EL_CONTROL_STEP, true},
        {"off", EL_CONTROL_OFF, false},
    };
    const char *given = el_only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    el_server_t *server = server_config(cmd);

    (void)config;
    if (error) {
        return error;
    }
    for (size_t i = 0; given && i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcasecmp(given, rows[i].word) == 0) {
            server->mode = rows[i].mode;
            server->mode_set = true;
            server->external = rows[i].external;
            return NULL;
        }
    }
    return el_refuse(cmd, args);
}

const char *el_set_load(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = el_only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    el_server_t *server = server_config(cmd);

    (void)config;
    if (error) {
        return error;
    }
    for (int kind = 0; given && kind < EL_LOAD_KINDS; kind++) {
        if (strcasecmp(given, el_load_kind_word((el_load_kind_t)kind)) == 0) {
            server->load = (el_load_kind_t)kind;
            server->load_set = true;
            return NULL;
        }
    }
    return el_refuse(cmd, args);
}

const char *el_set_goal(cmd_parms *cmd, void *config, const char *args)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)config;
    if (error) {
        return error;
    }
    return el_goal_parse(args, strlen(args), &server_config(cmd)->goal) ? NULL
                                                                        : el_refuse(cmd, args);
}

const char *el_set_position(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = el_only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    el_server_t *server = server_config(cmd);

    (void)config;
    if (error) {
        return error;
    }
    if (!given || !*given) {
        return el_refuse(cmd, args);
    }
    server->position = ap_server_root_relative(cmd->pool, given);
    return server->position ? NULL : el_refuse(cmd, args);
}
