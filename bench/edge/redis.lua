local redis = require("nginx.redis"):new()
redis:set_timeout(1000)
assert(redis:connect("127.0.0.1", tonumber(ngx.var.redis_port)))
local value = assert(redis:get("foo"))
assert(redis:set_keepalive(10000, 100))
ngx.header["Content-Type"] = "application/json"
ngx.print(require("cjson").encode({ foo = value }))
