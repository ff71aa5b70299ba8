CREATE TABLE agent_memories (
	id CHAR(32) NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT, 
	thread_id TEXT, 
	memory_key TEXT NOT NULL, 
	memory_type TEXT DEFAULT 'tool_output' NOT NULL, 
	tier TEXT DEFAULT 'detail' NOT NULL, 
	tier_id TEXT, 
	summary TEXT DEFAULT '' NOT NULL, 
	media_type TEXT DEFAULT 'text/plain' NOT NULL, 
	content_metadata JSON DEFAULT '{}' NOT NULL, 
	category TEXT, 
	tags JSON DEFAULT '[]' NOT NULL, 
	importance FLOAT DEFAULT (0.5) NOT NULL, 
	token_count BIGINT DEFAULT 0 NOT NULL, 
	char_count BIGINT DEFAULT 0 NOT NULL, 
	line_count BIGINT DEFAULT 0 NOT NULL, 
	content_hash TEXT DEFAULT '' NOT NULL, 
	identity TEXT, 
	created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL, 
	updated_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL, 
	expires_at DATETIME, 
	is_active BOOLEAN DEFAULT 1 NOT NULL, 
	content TEXT, 
	content_bytes BLOB, 
	PRIMARY KEY (id), 
	CONSTRAINT uq_agent_memories_user_key UNIQUE (user_id, memory_key), 
	CONSTRAINT uq_agent_memories_user_identity UNIQUE (user_id, identity)
);
CREATE INDEX ix_agent_memories_user_created ON agent_memories (user_id, created_at);
CREATE INDEX ix_agent_memories_user_tier ON agent_memories (user_id, tier, tier_id);
CREATE INDEX ix_agent_memories_user_thread ON agent_memories (user_id, thread_id);
CREATE TABLE agent_memory_deletions (
	user_id TEXT NOT NULL, 
	memory_key TEXT NOT NULL, 
	deleted_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL, 
	reason TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (user_id, memory_key)
);
CREATE TABLE agent_memory_access (
	memory_id CHAR(32) NOT NULL, 
	accessed_at DATETIME NOT NULL, 
	access_count BIGINT DEFAULT 1 NOT NULL, 
	PRIMARY KEY (memory_id), 
	CONSTRAINT fk_agent_memory_access FOREIGN KEY(memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE
);
CREATE TABLE memory_context_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT memory_context_version_pkc PRIMARY KEY (version_num)
);
INSERT OR REPLACE INTO agent_memories VALUES('087242d778fc4adf9470076945683e93','ann','coder','t1','decision','tool_output','detail',NULL,'the decision','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,45,45,1,'deb5f07cca34e6cc81f5a678cb7db3ee752ab8d28015fd8ad8beff09d7b69164',NULL,'2026-11-22 08:05:36.992406','2026-11-22 08:05:36.992413',NULL,1,'The launch window of the rocket is on Friday.',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('5f7f49b85f054b48ae8e15b38f1e09c3','ann','coder','t1','chinese','tool_output','detail',NULL,'the chinese','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,15,15,1,'1f195ab7d998d0feca9b2ba1206f4d9defbc97dd2137694f4f384845297f9f97',NULL,'2026-11-22 08:05:37.002949','2026-11-22 08:05:37.002955',NULL,1,'数据库连接失败：请检查密码 😀',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('1ab300108ecb4b09885edb646bddd0a2','ann','coder','t1','large','tool_output','detail',NULL,'the large','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,3642,3642,120,'452d42eaf55170269e1e737fb2b7cb8ba643c9142e03e23041e5a582484658e8',NULL,'2026-11-22 08:05:37.003456','2026-11-22 08:05:37.003458',NULL,1,'line 0: worker 0 took 0 ms
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
line 119: worker 0 took 403 ms',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('0baf1c38e467471cbee2b9bf7f717a71','ann','coder','t1','nul','tool_output','detail',NULL,'the nul','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,12,12,1,'2aef0a643178abbb8d9a9affd254de5bbc459a324546fa66d37287f8efd5a5ee',NULL,'2026-11-22 08:05:37.003787','2026-11-22 08:05:37.003788',NULL,1,NULL,X'4E554C200020696E73696465');
INSERT OR REPLACE INTO agent_memories VALUES('78c136a1647e44af8c210201cea0be2e','ann','coder','t1','surrogate','tool_output','detail',NULL,'the surrogate','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,18,18,1,'975d5b4ab69e885784d946e3001e499cf0a7a778e00c48f394a24e801a9e014a',NULL,'2026-11-22 08:05:37.004091','2026-11-22 08:05:37.004092',NULL,1,NULL,X'61206C6F6E6520EDA0BD20737572726F67617465');
INSERT OR REPLACE INTO agent_memories VALUES('86f75d4cb5444121ac7ba664e4d29027','ann','coder','t1','breaks','tool_output','detail',NULL,'the breaks','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,14,14,3,'add2b1b7ccbad6be80e893d72fcd9bc45bff5fc6ee5cde54a71d06343fc69d9b',NULL,'2026-11-22 08:05:37.004370','2026-11-22 08:05:37.004371',NULL,1,'line
breaks

',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('aa6e48d2f3bd4549bb326e3da262f42b','ann','coder','t1','empty','tool_output','detail',NULL,'the empty','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,0,0,0,'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',NULL,'2026-11-22 08:05:37.004656','2026-11-22 08:05:37.004657',NULL,1,'',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('048a7af672e74a6da6a053cac56be34b','ann','coder','t1','binary','tool_output','detail',NULL,'the binary','application/octet-stream','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,0,12,0,'0b3509836ce4b263d503bf03fc1017555ee12471d67c34d350e1ab047b7b1366',NULL,'2026-11-22 08:05:37.004918','2026-11-22 08:05:37.004919',NULL,1,NULL,X'00FFFE2062696E6172792080');
INSERT OR REPLACE INTO agent_memories VALUES('67721de728734c3a8d6f1e66796ec1d7','ann','coder','t1','json','tool_output','detail',NULL,'the json','application/json','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,74,74,1,'06cbf78b5add9af758f1ebb4b4f3919749a7d0d7b58b8808d609f077300f581a',NULL,'2026-11-22 08:05:37.005194','2026-11-22 08:05:37.005195',NULL,1,'{"items": [{"id": 1, "name": "ü"}, {"id": 2, "name": null}], "total": 2.5}',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('56059b97319249bc86dab04aad5d8556','ann','coder','t1','staging-password','secret','detail',NULL,'the password of staging','text/plain','{}',NULL,'["staging"]',0.5,7,7,1,'f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7',NULL,'2026-11-22 08:05:37.005484','2026-11-22 08:05:37.005485',NULL,1,'hunter2',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('b3eeda99c83f477298c4548d760a19ab','ann','coder','t1','in-run','note','run','r1','text, 1 lines: a note of the tier run','text/plain','{}','notes/run','["red", "gr\u00fcn"]',0.75,22,22,1,'578f46622e868ed1adfd95c30f3fea4c29f08788d388861d9e1e0aca57ac90e7',NULL,'2026-11-22 08:05:37.005783','2026-11-22 08:05:37.005784',NULL,1,'a note of the tier run',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('8fd88fe9d4d24ac9a527db20604bffc3','ann','coder','t1','in-session','note','session','t1','text, 1 lines: a note of the tier session','text/plain','{}','notes/session','["red", "gr\u00fcn"]',0.75,26,26,1,'9a4a7bfa680dc30c3f7c0af4cbafeb2cb245f8e730288dc027589de2d14b277d',NULL,'2026-11-22 08:05:37.006036','2026-11-22 08:05:37.006036',NULL,1,'a note of the tier session',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('71ba717a87b4444ea643a3a980a8b19b','ann','coder','t1','in-plan','note','plan','r1','text, 1 lines: a note of the tier plan','text/plain','{}','notes/plan','["red", "gr\u00fcn"]',0.75,23,23,1,'0774a5f7f9922e62c6d082ed97bd2d5cd81584a1e8a296001a64f37fd7aacaed',NULL,'2026-11-22 08:05:37.006278','2026-11-22 08:05:37.006279',NULL,1,'a note of the tier plan',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('59e53d800ea74ac0ab4d21e1a12e2fad','ann','coder','t1','in-task','note','task','k1','text, 1 lines: a note of the tier task','text/plain','{}','notes/task','["red", "gr\u00fcn"]',0.75,23,23,1,'4cbeafa3828a4c5d7b40912cfbd9d0ae0206c3c746326d35b274fef5646f3da3',NULL,'2026-11-22 08:05:37.006517','2026-11-22 08:05:37.006518',NULL,1,'a note of the tier task',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('0585839594184aa49e8fe9b29601ecd4','ann','coder','t1','in-project','note','project','p1','text, 1 lines: a note of the tier project','text/plain','{}','notes/project','["red", "gr\u00fcn"]',0.75,26,26,1,'64a22cbb755d323bda786048c5015378803fa4203ad62a73e18930cf02795ab2',NULL,'2026-11-22 08:05:37.006837','2026-11-22 08:05:37.006839',NULL,1,'a note of the tier project',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('336cb46cb4da44e7acbb2779f0cd73a9','ann','coder','t1','in-global','note','global',NULL,'text, 1 lines: a note of the tier global','text/plain','{}','notes/global','["red", "gr\u00fcn"]',0.75,25,25,1,'0d8ea0ee930f19a5ddd0b7aefd0db027737ce5ffb0f95ff5c99ee44d84270642',NULL,'2026-11-22 08:05:37.007264','2026-11-22 08:05:37.007265',NULL,1,'a note of the tier global',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('a1c63408a1184ad39b4dcc8b8e5af9f5','ann','coder','t1','npm_install_8f680499','tool_output','detail',NULL,'text, 1 lines: an output that is shared an output that is shared an output that…','text/plain','{}',NULL,'[]',0.5,500,500,1,'8f6804993db1cd23d45193a7ff52ffc01e5f80eaf51b7a141e16ee99b996bb5f','8f6804993db1cd23d45193a7ff52ffc01e5f80eaf51b7a141e16ee99b996bb5f','2026-11-22 08:05:37.007674','2026-11-22 08:05:37.007675','2999-12-31 23:59:59.123456',1,'an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared ',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('15709e6743a947c8a58d1f621eda632d','ann','coder','t1','evicted','note','detail',NULL,'text, 1 lines: evicted','text/plain','{}',NULL,'[]',0.5,7,7,1,'48acbb9c630a69a055d0c0610d7aa63aa7fc3ce5fd1ca812f4843d0eccea78bb',NULL,'2026-11-22 08:05:37.010107','2026-11-22 08:05:37.011352',NULL,0,'evicted',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('0ed4364f4a484bd983dcdea816c9d480','bob',NULL,NULL,'decision','note','detail',NULL,'bob''s own','text/plain','{}',NULL,'[]',0.5,45,45,1,'deb5f07cca34e6cc81f5a678cb7db3ee752ab8d28015fd8ad8beff09d7b69164',NULL,'2026-11-22 08:05:37.023448','2026-11-22 08:05:37.023450',NULL,1,'The launch window of the rocket is on Friday.',NULL);
INSERT OR REPLACE INTO agent_memory_deletions VALUES('ann','gone','2026-11-22 08:05:37.020170','forgotten');
INSERT OR REPLACE INTO agent_memory_deletions VALUES('ann','gone-too','2026-11-22 08:05:37.022617','a retention rule');
INSERT OR REPLACE INTO agent_memory_access VALUES('087242d778fc4adf9470076945683e93','2026-11-22 08:05:37.017396',2);
INSERT OR REPLACE INTO agent_memory_access VALUES('1ab300108ecb4b09885edb646bddd0a2','2026-11-22 08:05:37.018751',1);
INSERT OR REPLACE INTO memory_context_version VALUES('0001');
