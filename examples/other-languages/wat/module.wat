;; The whole contract by hand: a workflow `main` that records one computation and makes one call, and the activity `work`
;; that it calls. It shows what every toolchain generates: the functions of `segno:workflow` as the canonical ABI lowers
;; them to core WebAssembly. `wasm-tools component embed` and `wasm-tools component new` make a component of it.
(module
  ;; What a workflow asks for. A parameter list of more than 16 values is passed in memory (`call`), a result of more than
  ;; one is written to where the last parameter points (`run`).
  (import "segno:workflow/journal@0.2.0" "now" (func $now (result i64)))
  (import "segno:workflow/journal@0.2.0" "call" (func $call (param $parameters i32) (result i32)))
  (import "segno:workflow/journal@0.2.0" "run"
    (func $run (param $name i32) (param $length i32) (param $answer i32)))
  (import "segno:workflow/journal@0.2.0" "run-done"
    (func $run-done (param $command i32) (param $outcome i32) (param i32 i32 i32 i32 i32 i32 i32)))
  (import "segno:workflow/journal@0.2.0" "finish"
    (func $finish (param $outcome i32) (param i32 i32 i32 i32 i32 i32 i32)))

  (memory (export "memory") 1)

  ;;     0  text
  ;;   256  the answer of `describe`: a list, and from 264 on its two records of 128 bytes
  ;;   640  the parameters of `call`, 120 bytes
  ;;   768  the answer of `run`: execute (0) or recorded (1), and at 772 the command
  ;;   784  the answer of `perform`: success (0), and from 788 on the payload
  ;;  1024  what the host passes in
  (data (i32.const 0) "main" "work" "number" "7" "cancelled")
  (data (i32.const 256) "\08\01\00\00\02\00\00\00")                  ;; at 264, 2 of them
  (data (i32.const 264) "\00\00\00\00\04\00\00\00\00")               ;; name: at 0, 4 bytes; kind: workflow (0)
  (data (i32.const 392) "\04\00\00\00\04\00\00\00\01")               ;; name: at 4, 4 bytes; kind: activity (1)
  ;; Everything else of the records is zero: no summary, no schemas, no signals, no timeout, no retry options.

  ;; All that the workflow knows while it waits: which command it waits for.
  (global $waits-for (mut i32) (i32.const -1))

  ;; The host asks for room before it passes something in. Nothing is ever freed: an instance lives as long as one execution.
  (global $free (mut i32) (i32.const 1024))
  (func (export "cabi_realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at
      (i32.and
        (i32.add (global.get $free) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $free (i32.add (local.get $at) (local.get $size)))
    (block $fits
      (br_if $fits (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
      (br_if $fits
        (i32.ne (i32.const -1)
          (memory.grow (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1)))))
      unreachable)
    (memory.copy (local.get $at) (local.get $old) (local.get $old-size))
    (local.get $at))

  (func (export "segno:workflow/functions@0.2.0#describe") (result i32)
    (i32.const 256))

  ;; Asks, and returns: the results come as events.
  (func (export "segno:workflow/functions@0.2.0#start")
    (param $function i32) (param $function-length i32)
    (param $kind i32) (param $input i32) (param $length i32)             ;; the payload: JSON (0) or bytes (1)
    (param $invocation i32) (param $invocation-length i32)
    (param $has-parent i32) (param $parent i32) (param $parent-length i32)
    (param $started-at i64)
    (param $seed i32) (param $seed-length i32)

    ;; Command 0: a computation that is done once. In a replay its result is there already.
    (call $run (i32.const 8) (i32.const 6) (i32.const 768))
    (if (i32.eqz (i32.load8_u (i32.const 768)))
      (then
        (call $run-done (i32.load (i32.const 772))
          (i32.const 0) (i32.const 0) (i32.const 14) (i32.const 1)     ;; success, JSON, "7"
          (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))

    ;; Command 1: `work` with this function's own input, not before two seconds from now.
    (i32.store (i32.const 640) (i32.const 4))
    (i32.store (i32.const 644) (i32.const 4))
    (i32.store (i32.const 648) (local.get $kind))
    (i32.store (i32.const 652) (local.get $input))
    (i32.store (i32.const 656) (local.get $length))
    (i32.store (i32.const 736) (i32.const 1))                            ;; start-at-ms: some
    (i64.store (i32.const 744) (i64.add (call $now) (i64.const 2000)))
    (global.set $waits-for (call $call (i32.const 640))))

  ;; One event. An outcome arrives in the same eight values in which `finish` takes one.
  (func (export "segno:workflow/functions@0.2.0#resume")
    (param $event i32) (param $command i32)
    (param $outcome i32) (param $1 i32) (param $2 i32) (param $3 i32) (param $4 i32) (param $5 i32) (param $6 i32) (param $7 i32)
    (if (i32.eq (local.get $event) (i32.const 2))                        ;; cancelled
      (then
        (call $finish (i32.const 1) (i32.const 499) (i32.const 15) (i32.const 9)
          (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
        (return)))
    (if (i32.ne (local.get $event) (i32.const 0)) (then (return)))       ;; a signal: not for us
    (if (i32.ne (local.get $command) (global.get $waits-for)) (then (return)))
    (call $finish (local.get $outcome) (local.get $1) (local.get $2) (local.get $3)
      (local.get $4) (local.get $5) (local.get $6) (local.get $7)))

  ;; The activity gives back what it is given: function at 0, payload at 8, context from 24 on.
  (func (export "segno:workflow/functions@0.2.0#perform") (param $parameters i32) (result i32)
    (i32.store (i32.const 784) (i32.const 0))
    (memory.copy (i32.const 788) (i32.add (local.get $parameters) (i32.const 8)) (i32.const 12))
    (i32.const 784)))
