/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs whose size their worker decides; see facts_scale.h. */
#include "core/engine/store/facts_scale.h"

#include "core/api/owner.h"

/*
 * An object that the controller of a copy made. It may have all labels and annotations of the copy,
 * as KubeRay hands them on, and is none all the same.
 */
static void draw_child(struct facts *f, const struct json *obj, const struct facts_env *env,
		       struct arena *a)
{
	const struct json *ref = api_owner(obj);
	const struct plug_adapter *owner;
	int i;

	if (!json_bool(json_get(ref, "controller"))) {
		return;
	}
	f->s[S_OWNER_KIND] = api_gvk_text(a, json_str(json_get(ref, "apiVersion")),
					  json_str(json_get(ref, "kind")));
	i = plug_find_adapter(env->plug, f->s[S_OWNER_KIND]);
	owner = i < 0 ? NULL : plug_adapter(env->plug, (size_t)i);
	i = owner ? plug_child(env->plug, owner) : -1;
	if (i < 0 || plug_adapter(env->plug, (size_t)i) != env->adapter) {
		f->s[S_OWNER_KIND] = STR("");
		return;
	}
	f->flags |= F_CHILD;
	f->s[S_OWNER_NAME] = json_str(json_get(ref, "name"));
	f->s[S_OWNER_UID] = json_str(json_get(ref, "uid"));
}

void facts_of_scale(struct facts *f, const struct json *obj, const struct facts_env *env,
		    struct arena *a)
{
	if (env->adapter && env->remote) {
		draw_child(f, obj, env, a);
	} else if (env->adapter && plug_scales(env->adapter, obj)) {
		f->flags |= F_SCALED;
	}
}
