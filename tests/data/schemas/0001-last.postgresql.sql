CREATE TABLE public.agent_memories (
    id uuid NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    thread_id text,
    memory_key text NOT NULL,
    memory_type text DEFAULT 'tool_output'::text NOT NULL,
    tier text DEFAULT 'detail'::text NOT NULL,
    tier_id text,
    summary text DEFAULT ''::text NOT NULL,
    media_type text DEFAULT 'text/plain'::text NOT NULL,
    content_metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    category text,
    tags jsonb DEFAULT '[]'::jsonb NOT NULL,
    importance double precision DEFAULT 0.5 NOT NULL,
    token_count bigint DEFAULT 0 NOT NULL,
    char_count bigint DEFAULT 0 NOT NULL,
    line_count bigint DEFAULT 0 NOT NULL,
    content_hash text DEFAULT ''::text NOT NULL,
    identity text,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    expires_at timestamp with time zone,
    is_active boolean DEFAULT true NOT NULL,
    content text,
    content_bytes bytea
);
CREATE TABLE public.agent_memory_access (
    memory_id uuid NOT NULL,
    accessed_at timestamp with time zone NOT NULL,
    access_count bigint DEFAULT 1 NOT NULL
);
CREATE TABLE public.agent_memory_deletions (
    user_id text NOT NULL,
    memory_key text NOT NULL,
    deleted_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    reason text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.memory_context_version (
    version_num character varying(32) NOT NULL
);
INSERT INTO public.agent_memories VALUES ('6d70c1dc-cbe4-43b3-b09a-6a15f440c383', 'ann', 'coder', 't1', 'decision', 'tool_output', 'detail', NULL, 'the decision', 'text/plain', '{"args": ["a", null, {"ü": true}], "exit": 1}', NULL, '[]', 0.5, 45, 45, 1, 'deb5f07cca34e6cc81f5a678cb7db3ee752ab8d28015fd8ad8beff09d7b69164', NULL, '2026-11-22 08:05:38.236445+00', '2026-11-22 08:05:38.236452+00', NULL, true, 'The launch window of the rocket is on Friday.', NULL);
INSERT INTO public.agent_memories VALUES ('9953a941-f941-41dd-b772-c17a331d6933', 'ann', 'coder', 't1', 'chinese', 'tool_output', 'detail', NULL, 'the chinese', 'text/plain', '{"args": ["a", null, {"ü": true}], "exit": 1}', NULL, '[]', 0.5, 15, 15, 1, '1f195ab7d998d0feca9b2ba1206f4d9defbc97dd2137694f4f384845297f9f97', NULL, '2026-11-22 08:05:38.368235+00', '2026-11-22 08:05:38.368244+00', NULL, true, '数据库连接失败：请检查密码 😀', NULL);
INSERT INTO public.agent_memories VALUES ('697d2bc7-5225-47b1-a212-d9844ad08e81', 'ann', 'coder', 't1', 'large', 'tool_output', 'detail', NULL, 'the large', 'text/plain', '{"args": ["a", null, {"ü": true}], "exit": 1}', NULL, '[]', 0.5, 3642, 3642, 120, '452d42eaf55170269e1e737fb2b7cb8ba643c9142e03e23041e5a582484658e8', NULL, '2026-11-22 08:05:38.370107+00', '2026-11-22 08:05:38.370114+00', NULL, true, 'line 0: worker 0 took 0 ms
line 1: worker 1 took 37 ms
line 2: worker 2 took 74 ms
line 3: worker 3 took 111 ms
line 4: worker 4 took 148 ms
line 5: worker 5 took 185 ms
line 6: worker 6 took 222 ms
line 7: worker 0 took 259 ms
line 8: worker 1 took 296 ms
line 9: worker 2 took 333 ms
line 10: worker 3 took 370 ms
line 11: worker 4 took 407 ms
line 12: worker 5 took 444 ms
line 13: worker 6 took 481 ms
line 14: worker 0 took 518 ms
line 15: worker 1 took 555 ms
line 16: worker 2 took 592 ms
line 17: worker 3 took 629 ms
line 18: worker 4 took 666 ms
line 19: worker 5 took 703 ms
line 20: worker 6 took 740 ms
line 21: worker 0 took 777 ms
line 22: worker 1 took 814 ms
line 23: worker 2 took 851 ms
line 24: worker 3 took 888 ms
line 25: worker 4 took 925 ms
line 26: worker 5 took 962 ms
line 27: worker 6 took 999 ms
line 28: worker 0 took 36 ms
line 29: worker 1 took 73 ms
line 30: worker 2 took 110 ms
line 31: worker 3 took 147 ms
line 32: worker 4 took 184 ms
line 33: worker 5 took 221 ms
line 34: worker 6 took 258 ms
line 35: worker 0 took 295 ms
line 36: worker 1 took 332 ms
line 37: worker 2 took 369 ms
line 38: worker 3 took 406 ms
line 39: worker 4 took 443 ms
line 40: worker 5 took 480 ms
line 41: worker 6 took 517 ms
line 42: worker 0 took 554 ms
line 43: worker 1 took 591 ms
line 44: worker 2 took 628 ms
line 45: worker 3 took 665 ms
line 46: worker 4 took 702 ms
line 47: worker 5 took 739 ms
line 48: worker 6 took 776 ms
line 49: worker 0 took 813 ms
line 50: worker 1 took 850 ms
line 51: worker 2 took 887 ms
line 52: worker 3 took 924 ms
line 53: worker 4 took 961 ms
line 54: worker 5 took 998 ms
line 55: worker 6 took 35 ms
line 56: worker 0 took 72 ms
line 57: worker 1 took 109 ms
line 58: worker 2 took 146 ms
line 59: worker 3 took 183 ms
line 60: zebrafish-4711 was found by the night shift; worker 4 took 220 ms
line 61: worker 5 took 257 ms
line 62: worker 6 took 294 ms
line 63: worker 0 took 331 ms
line 64: worker 1 took 368 ms
line 65: worker 2 took 405 ms
line 66: worker 3 took 442 ms
line 67: worker 4 took 479 ms
line 68: worker 5 took 516 ms
line 69: worker 6 took 553 ms
line 70: worker 0 took 590 ms
line 71: worker 1 took 627 ms
line 72: worker 2 took 664 ms
line 73: worker 3 took 701 ms
line 74: worker 4 took 738 ms
line 75: worker 5 took 775 ms
line 76: worker 6 took 812 ms
line 77: worker 0 took 849 ms
line 78: worker 1 took 886 ms
line 79: worker 2 took 923 ms
line 80: worker 3 took 960 ms
line 81: worker 4 took 997 ms
line 82: worker 5 took 34 ms
line 83: worker 6 took 71 ms
line 84: worker 0 took 108 ms
line 85: worker 1 took 145 ms
line 86: worker 2 took 182 ms
line 87: worker 3 took 219 ms
line 88: worker 4 took 256 ms
line 89: worker 5 took 293 ms
line 90: worker 6 took 330 ms
line 91: worker 0 took 367 ms
line 92: worker 1 took 404 ms
line 93: worker 2 took 441 ms
line 94: worker 3 took 478 ms
line 95: worker 4 took 515 ms
line 96: worker 5 took 552 ms
line 97: worker 6 took 589 ms
line 98: worker 0 took 626 ms
line 99: worker 1 took 663 ms
line 100: worker 2 took 700 ms
line 101: worker 3 took 737 ms
line 102: worker 4 took 774 ms
line 103: worker 5 took 811 ms
line 104: worker 6 took 848 ms
line 105: worker 0 took 885 ms
line 106: worker 1 took 922 ms
line 107: worker 2 took 959 ms
line 108: worker 3 took 996 ms
line 109: worker 4 took 33 ms
line 110: worker 5 took 70 ms
line 111: worker 6 took 107 ms
line 112: worker 0 took 144 ms
line 113: worker 1 took 181 ms
line 114: worker 2 took 218 ms
line 115: worker 3 took 255 ms
line 116: worker 4 took 292 ms
line 117: worker 5 took 329 ms
line 118: worker 6 took 366 ms
line 119: worker 0 took 403 ms', NULL);
INSERT INTO public.agent_memories VALUES ('45d57232-2d3a-4296-aa9f-7b42db9f11e4', 'ann', 'coder', 't1', 'nul', 'tool_output', 'detail', NULL, 'the nul', 'text/plain', '{"args": ["a", null, {"ü": true}], "exit": 1}', NULL, '[]', 0.5, 12, 12, 1, '2aef0a643178abbb8d9a9affd254de5bbc459a324546fa66d37287f8efd5a5ee', NULL, '2026-11-22 08:05:38.372604+00', '2026-11-22 08:05:38.372611+00', NULL, true, NULL, '\x4e554c200020696e73696465');
INSERT INTO public.agent_memories VALUES ('3949b8a0-bd06-43cc-874d-231ef953eb27', 'ann', 'coder', 't1', 'surrogate', 'tool_output', 'detail', NULL, 'the surrogate', 'text/plain', '{"args": ["a", null, {"ü": true}], "exit": 1}', NULL, '[]', 0.5, 18, 18, 1, '975d5b4ab69e885784d946e3001e499cf0a7a778e00c48f394a24e801a9e014a', NULL, '2026-11-22 08:05:38.374685+00', '2026-11-22 08:05:38.374691+00', NULL, true, NULL, '\x61206c6f6e6520eda0bd20737572726f67617465');
INSERT INTO public.agent_memories VALUES ('ba7e8d46-380f-4bdf-94c4-d6621aa8e9b9', 'ann', 'coder', 't1', 'breaks', 'tool_output', 'detail', NULL, 'the breaks', 'text/plain', '{"args": ["a", null, {"ü": true}], "exit": 1}', NULL, '[]', 0.5, 14, 14, 3, 'add2b1b7ccbad6be80e893d72fcd9bc45bff5fc6ee5cde54a71d06343fc69d9b', NULL, '2026-11-22 08:05:38.37681+00', '2026-11-22 08:05:38.376814+00', NULL, true, 'line
breaks

', NULL);
INSERT INTO public.agent_memories VALUES ('fe536646-2abc-4feb-bcf2-ba82e954c4e2', 'ann', 'coder', 't1', 'empty', 'tool_output', 'detail', NULL, 'the empty', 'text/plain', '{"args": ["a", null, {"ü": true}], "exit": 1}', NULL, '[]', 0.5, 0, 0, 0, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', NULL, '2026-11-22 08:05:38.378702+00', '2026-11-22 08:05:38.378707+00', NULL, true, '', NULL);
INSERT INTO public.agent_memories VALUES ('b69c5e90-1c21-4018-b54e-f7fa46a8a406', 'ann', 'coder', 't1', 'binary', 'tool_output', 'detail', NULL, 'the binary', 'application/octet-stream', '{"args": ["a", null, {"ü": true}], "exit": 1}', NULL, '[]', 0.5, 0, 12, 0, '0b3509836ce4b263d503bf03fc1017555ee12471d67c34d350e1ab047b7b1366', NULL, '2026-11-22 08:05:38.380496+00', '2026-11-22 08:05:38.380501+00', NULL, true, NULL, '\x00fffe2062696e6172792080');
INSERT INTO public.agent_memories VALUES ('5b334968-6a0f-4529-b1e1-372b7c1014b5', 'ann', 'coder', 't1', 'json', 'tool_output', 'detail', NULL, 'the json', 'application/json', '{"args": ["a", null, {"ü": true}], "exit": 1}', NULL, '[]', 0.5, 74, 74, 1, '06cbf78b5add9af758f1ebb4b4f3919749a7d0d7b58b8808d609f077300f581a', NULL, '2026-11-22 08:05:38.382292+00', '2026-11-22 08:05:38.382295+00', NULL, true, '{"items": [{"id": 1, "name": "ü"}, {"id": 2, "name": null}], "total": 2.5}', NULL);
INSERT INTO public.agent_memories VALUES ('282a354f-2d7b-4ed9-8ce5-c4a11dea2212', 'ann', 'coder', 't1', 'staging-password', 'secret', 'detail', NULL, 'the password of staging', 'text/plain', '{}', NULL, '["staging"]', 0.5, 7, 7, 1, 'f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7', NULL, '2026-11-22 08:05:38.384269+00', '2026-11-22 08:05:38.384276+00', NULL, true, 'hunter2', NULL);
INSERT INTO public.agent_memories VALUES ('309e03b1-d611-4f52-aedd-1750b23f1857', 'ann', 'coder', 't1', 'in-run', 'note', 'run', 'r1', 'text, 1 lines: a note of the tier run', 'text/plain', '{}', 'notes/run', '["red", "grün"]', 0.75, 22, 22, 1, '578f46622e868ed1adfd95c30f3fea4c29f08788d388861d9e1e0aca57ac90e7', NULL, '2026-11-22 08:05:38.386208+00', '2026-11-22 08:05:38.386213+00', NULL, true, 'a note of the tier run', NULL);
INSERT INTO public.agent_memories VALUES ('01f5933a-f8f5-4651-99c9-acc7effa763b', 'ann', 'coder', 't1', 'in-session', 'note', 'session', 't1', 'text, 1 lines: a note of the tier session', 'text/plain', '{}', 'notes/session', '["red", "grün"]', 0.75, 26, 26, 1, '9a4a7bfa680dc30c3f7c0af4cbafeb2cb245f8e730288dc027589de2d14b277d', NULL, '2026-11-22 08:05:38.387596+00', '2026-11-22 08:05:38.387598+00', NULL, true, 'a note of the tier session', NULL);
INSERT INTO public.agent_memories VALUES ('a77209a5-6a66-49fa-94e6-2e7357f53e00', 'ann', 'coder', 't1', 'in-plan', 'note', 'plan', 'r1', 'text, 1 lines: a note of the tier plan', 'text/plain', '{}', 'notes/plan', '["red", "grün"]', 0.75, 23, 23, 1, '0774a5f7f9922e62c6d082ed97bd2d5cd81584a1e8a296001a64f37fd7aacaed', NULL, '2026-11-22 08:05:38.388701+00', '2026-11-22 08:05:38.388703+00', NULL, true, 'a note of the tier plan', NULL);
INSERT INTO public.agent_memories VALUES ('76c79c96-e9f4-4c48-a02c-c1cfefe19ff9', 'ann', 'coder', 't1', 'in-task', 'note', 'task', 'k1', 'text, 1 lines: a note of the tier task', 'text/plain', '{}', 'notes/task', '["red", "grün"]', 0.75, 23, 23, 1, '4cbeafa3828a4c5d7b40912cfbd9d0ae0206c3c746326d35b274fef5646f3da3', NULL, '2026-11-22 08:05:38.389734+00', '2026-11-22 08:05:38.389736+00', NULL, true, 'a note of the tier task', NULL);
INSERT INTO public.agent_memories VALUES ('957b5ebf-6429-4fe7-8d4c-3b7404a32fb0', 'ann', 'coder', 't1', 'in-project', 'note', 'project', 'p1', 'text, 1 lines: a note of the tier project', 'text/plain', '{}', 'notes/project', '["red", "grün"]', 0.75, 26, 26, 1, '64a22cbb755d323bda786048c5015378803fa4203ad62a73e18930cf02795ab2', NULL, '2026-11-22 08:05:38.390785+00', '2026-11-22 08:05:38.390787+00', NULL, true, 'a note of the tier project', NULL);
INSERT INTO public.agent_memories VALUES ('9c39b6e2-741e-4569-a5f1-82e2d2374dcb', 'ann', 'coder', 't1', 'in-global', 'note', 'global', NULL, 'text, 1 lines: a note of the tier global', 'text/plain', '{}', 'notes/global', '["red", "grün"]', 0.75, 25, 25, 1, '0d8ea0ee930f19a5ddd0b7aefd0db027737ce5ffb0f95ff5c99ee44d84270642', NULL, '2026-11-22 08:05:38.392294+00', '2026-11-22 08:05:38.392299+00', NULL, true, 'a note of the tier global', NULL);
INSERT INTO public.agent_memories VALUES ('95c6f012-2931-4f81-92c4-6585d46167fa', 'ann', 'coder', 't1', 'npm_install_8f680499', 'tool_output', 'detail', NULL, 'text, 1 lines: an output that is shared an output that is shared an output that…', 'text/plain', '{}', NULL, '[]', 0.5, 500, 500, 1, '8f6804993db1cd23d45193a7ff52ffc01e5f80eaf51b7a141e16ee99b996bb5f', '8f6804993db1cd23d45193a7ff52ffc01e5f80eaf51b7a141e16ee99b996bb5f', '2026-11-22 08:05:38.393784+00', '2026-11-22 08:05:38.393788+00', '2999-12-31 23:59:59.123456+00', true, 'an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared ', NULL);
INSERT INTO public.agent_memories VALUES ('9a07c67b-74f7-4924-998f-8837c7f5ac96', 'ann', 'coder', 't1', 'evicted', 'note', 'detail', NULL, 'text, 1 lines: evicted', 'text/plain', '{}', NULL, '[]', 0.5, 7, 7, 1, '48acbb9c630a69a055d0c0610d7aa63aa7fc3ce5fd1ca812f4843d0eccea78bb', NULL, '2026-11-22 08:05:38.400173+00', '2026-11-22 08:05:38.403499+00', NULL, false, 'evicted', NULL);
INSERT INTO public.agent_memories VALUES ('8fe0e041-842c-45d9-8be0-7b282c233c4c', 'bob', NULL, NULL, 'decision', 'note', 'detail', NULL, 'bob''s own', 'text/plain', '{}', NULL, '[]', 0.5, 45, 45, 1, 'deb5f07cca34e6cc81f5a678cb7db3ee752ab8d28015fd8ad8beff09d7b69164', NULL, '2026-11-22 08:05:38.430883+00', '2026-11-22 08:05:38.430887+00', NULL, true, 'The launch window of the rocket is on Friday.', NULL);
INSERT INTO public.agent_memory_access VALUES ('6d70c1dc-cbe4-43b3-b09a-6a15f440c383', '2026-11-22 08:05:38.415303+00', 2);
INSERT INTO public.agent_memory_access VALUES ('697d2bc7-5225-47b1-a212-d9844ad08e81', '2026-11-22 08:05:38.4193+00', 1);
INSERT INTO public.agent_memory_deletions VALUES ('ann', 'gone', '2026-11-22 08:05:38.423318+00', 'forgotten');
INSERT INTO public.agent_memory_deletions VALUES ('ann', 'gone-too', '2026-11-22 08:05:38.428508+00', 'a retention rule');
INSERT INTO public.memory_context_version VALUES ('0001');
ALTER TABLE ONLY public.agent_memories
    ADD CONSTRAINT agent_memories_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.agent_memory_access
    ADD CONSTRAINT agent_memory_access_pkey PRIMARY KEY (memory_id);
ALTER TABLE ONLY public.agent_memory_deletions
    ADD CONSTRAINT agent_memory_deletions_pkey PRIMARY KEY (user_id, memory_key);
ALTER TABLE ONLY public.memory_context_version
    ADD CONSTRAINT memory_context_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.agent_memories
    ADD CONSTRAINT uq_agent_memories_user_identity UNIQUE (user_id, identity);
ALTER TABLE ONLY public.agent_memories
    ADD CONSTRAINT uq_agent_memories_user_key UNIQUE (user_id, memory_key);
CREATE INDEX ix_agent_memories_user_created ON public.agent_memories USING btree (user_id, created_at);
CREATE INDEX ix_agent_memories_user_thread ON public.agent_memories USING btree (user_id, thread_id);
CREATE INDEX ix_agent_memories_user_tier ON public.agent_memories USING btree (user_id, tier, tier_id);
ALTER TABLE ONLY public.agent_memory_access
    ADD CONSTRAINT fk_agent_memory_access FOREIGN KEY (memory_id) REFERENCES public.agent_memories(id) ON DELETE CASCADE;
