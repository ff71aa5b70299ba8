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
CREATE TABLE agent_memory_owners (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	user_id TEXT NOT NULL, 
	passages BIGINT DEFAULT 0 NOT NULL, 
	length BIGINT DEFAULT 0 NOT NULL, 
	CONSTRAINT uq_agent_memory_owners_user UNIQUE (user_id)
);
CREATE TABLE agent_memory_settings (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE agent_memory_access (
	memory_id CHAR(32) NOT NULL, 
	accessed_at DATETIME NOT NULL, 
	access_count BIGINT DEFAULT 1 NOT NULL, 
	PRIMARY KEY (memory_id), 
	CONSTRAINT fk_agent_memory_access FOREIGN KEY(memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE
);
CREATE TABLE agent_memory_passages (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	memory_id CHAR(32) NOT NULL, 
	ordinal BIGINT NOT NULL, 
	start BIGINT NOT NULL, 
	stop BIGINT NOT NULL, 
	line BIGINT NOT NULL, 
	length INTEGER NOT NULL, 
	lexemes TEXT, 
	CONSTRAINT fk_agent_memory_passages FOREIGN KEY(memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE, 
	CONSTRAINT uq_agent_memory_passages UNIQUE (memory_id, ordinal)
);
CREATE INDEX ix_agent_memory_passages_lexemes ON agent_memory_passages (lexemes) WHERE lexemes IS NOT NULL;
CREATE TABLE agent_memory_pending (
	memory_id CHAR(32) NOT NULL, 
	user_id TEXT NOT NULL, 
	done BIGINT DEFAULT 0 NOT NULL, 
	PRIMARY KEY (memory_id), 
	CONSTRAINT fk_agent_memory_pending FOREIGN KEY(memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE
);
CREATE INDEX ix_agent_memory_pending_user ON agent_memory_pending (user_id);
CREATE VIRTUAL TABLE agent_memory_index USING fts5(
    lexemes, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE agent_memory_terms USING fts5vocab(agent_memory_index, row);
CREATE TABLE memory_context_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT memory_context_version_pkc PRIMARY KEY (version_num)
);
INSERT OR REPLACE INTO agent_memories VALUES('681915d15ff94f6496acfc3c34a1dded','ann','coder','t1','decision','tool_output','detail',NULL,'the decision','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,45,45,1,'deb5f07cca34e6cc81f5a678cb7db3ee752ab8d28015fd8ad8beff09d7b69164',NULL,'2026-11-22 08:05:39.477987','2026-11-22 08:05:39.477995',NULL,1,'The launch window of the rocket is on Friday.',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('d7f1bf4a282b409082ce16f2f16d14ef','ann','coder','t1','chinese','tool_output','detail',NULL,'the chinese','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,15,15,1,'1f195ab7d998d0feca9b2ba1206f4d9defbc97dd2137694f4f384845297f9f97',NULL,'2026-11-22 08:05:39.493423','2026-11-22 08:05:39.493430',NULL,1,'数据库连接失败：请检查密码 😀',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('871220e98fc5423e917cef63219aa4c4','ann','coder','t1','large','tool_output','detail',NULL,'the large','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,3642,3642,120,'452d42eaf55170269e1e737fb2b7cb8ba643c9142e03e23041e5a582484658e8',NULL,'2026-11-22 08:05:39.494359','2026-11-22 08:05:39.494361',NULL,1,'line 0: worker 0 took 0 ms
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
INSERT OR REPLACE INTO agent_memories VALUES('ca4bb9bc7fb848618d9d0dc7e87711d1','ann','coder','t1','nul','tool_output','detail',NULL,'the nul','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,12,12,1,'2aef0a643178abbb8d9a9affd254de5bbc459a324546fa66d37287f8efd5a5ee',NULL,'2026-11-22 08:05:39.495875','2026-11-22 08:05:39.495877',NULL,1,NULL,X'4E554C200020696E73696465');
INSERT OR REPLACE INTO agent_memories VALUES('777219b717594ebeb423418990270ec7','ann','coder','t1','surrogate','tool_output','detail',NULL,'the surrogate','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,18,18,1,'975d5b4ab69e885784d946e3001e499cf0a7a778e00c48f394a24e801a9e014a',NULL,'2026-11-22 08:05:39.496522','2026-11-22 08:05:39.496524',NULL,1,NULL,X'61206C6F6E6520EDA0BD20737572726F67617465');
INSERT OR REPLACE INTO agent_memories VALUES('3ec521c75765433f93146f1279d3f9f4','ann','coder','t1','breaks','tool_output','detail',NULL,'the breaks','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,14,14,3,'add2b1b7ccbad6be80e893d72fcd9bc45bff5fc6ee5cde54a71d06343fc69d9b',NULL,'2026-11-22 08:05:39.497119','2026-11-22 08:05:39.497120',NULL,1,'line
breaks

',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('5ca3f5cb30f14fd38fccd94ff4379414','ann','coder','t1','empty','tool_output','detail',NULL,'the empty','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,0,0,0,'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',NULL,'2026-11-22 08:05:39.497753','2026-11-22 08:05:39.497755',NULL,1,'',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('6d4e7d9f29cb4f2d8d6de5dc996106c3','ann','coder','t1','binary','tool_output','detail',NULL,'the binary','application/octet-stream','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,0,12,0,'0b3509836ce4b263d503bf03fc1017555ee12471d67c34d350e1ab047b7b1366',NULL,'2026-11-22 08:05:39.498294','2026-11-22 08:05:39.498296',NULL,1,NULL,X'00FFFE2062696E6172792080');
INSERT OR REPLACE INTO agent_memories VALUES('3fbfbc78ae2647929f5bf003ce0d06bb','ann','coder','t1','json','tool_output','detail',NULL,'the json','application/json','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,74,74,1,'06cbf78b5add9af758f1ebb4b4f3919749a7d0d7b58b8808d609f077300f581a',NULL,'2026-11-22 08:05:39.498914','2026-11-22 08:05:39.498915',NULL,1,'{"items": [{"id": 1, "name": "ü"}, {"id": 2, "name": null}], "total": 2.5}',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('b31da0e9b8224b9aa1d9656bae3d91d9','ann','coder','t1','staging-password','secret','detail',NULL,'the password of staging','text/plain','{}',NULL,'["staging"]',0.5,7,7,1,'f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7',NULL,'2026-11-22 08:05:39.499707','2026-11-22 08:05:39.499709',NULL,1,'hunter2',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('82e811d19f0c4fddb66d550a162c0881','ann','coder','t1','in-run','note','run','r1','text, 1 lines: a note of the tier run','text/plain','{}','notes/run','["red", "gr\u00fcn"]',0.75,22,22,1,'578f46622e868ed1adfd95c30f3fea4c29f08788d388861d9e1e0aca57ac90e7',NULL,'2026-11-22 08:05:39.500329','2026-11-22 08:05:39.500330',NULL,1,'a note of the tier run',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('e7105b4164724c4fb494dee33b86cf38','ann','coder','t1','in-session','note','session','t1','text, 1 lines: a note of the tier session','text/plain','{}','notes/session','["red", "gr\u00fcn"]',0.75,26,26,1,'9a4a7bfa680dc30c3f7c0af4cbafeb2cb245f8e730288dc027589de2d14b277d',NULL,'2026-11-22 08:05:39.500906','2026-11-22 08:05:39.500907',NULL,1,'a note of the tier session',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('b86046f215374973bacb593b18e45eaa','ann','coder','t1','in-plan','note','plan','r1','text, 1 lines: a note of the tier plan','text/plain','{}','notes/plan','["red", "gr\u00fcn"]',0.75,23,23,1,'0774a5f7f9922e62c6d082ed97bd2d5cd81584a1e8a296001a64f37fd7aacaed',NULL,'2026-11-22 08:05:39.501448','2026-11-22 08:05:39.501449',NULL,1,'a note of the tier plan',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('fe21916a03ae4a559b1e9b71ba09ba16','ann','coder','t1','in-task','note','task','k1','text, 1 lines: a note of the tier task','text/plain','{}','notes/task','["red", "gr\u00fcn"]',0.75,23,23,1,'4cbeafa3828a4c5d7b40912cfbd9d0ae0206c3c746326d35b274fef5646f3da3',NULL,'2026-11-22 08:05:39.501961','2026-11-22 08:05:39.501962',NULL,1,'a note of the tier task',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('296bc8a020f94e148aab29f048b4d127','ann','coder','t1','in-project','note','project','p1','text, 1 lines: a note of the tier project','text/plain','{}','notes/project','["red", "gr\u00fcn"]',0.75,26,26,1,'64a22cbb755d323bda786048c5015378803fa4203ad62a73e18930cf02795ab2',NULL,'2026-11-22 08:05:39.502469','2026-11-22 08:05:39.502470',NULL,1,'a note of the tier project',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('c5eec93ed8fa4bce89604de4afb326eb','ann','coder','t1','in-global','note','global',NULL,'text, 1 lines: a note of the tier global','text/plain','{}','notes/global','["red", "gr\u00fcn"]',0.75,25,25,1,'0d8ea0ee930f19a5ddd0b7aefd0db027737ce5ffb0f95ff5c99ee44d84270642',NULL,'2026-11-22 08:05:39.502976','2026-11-22 08:05:39.502977',NULL,1,'a note of the tier global',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('26fba857be734676b6fdb578adc0488e','ann','coder','t1','npm_install_8f680499','tool_output','detail',NULL,'text, 1 lines: an output that is shared an output that is shared an output that…','text/plain','{}',NULL,'[]',0.5,500,500,1,'8f6804993db1cd23d45193a7ff52ffc01e5f80eaf51b7a141e16ee99b996bb5f','8f6804993db1cd23d45193a7ff52ffc01e5f80eaf51b7a141e16ee99b996bb5f','2026-11-22 08:05:39.503866','2026-11-22 08:05:39.503868','2999-12-31 23:59:59.123456',1,'an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared ',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('4d166304cbc54ffdb21c93354ace4aef','ann','coder','t1','evicted','note','detail',NULL,'text, 1 lines: evicted','text/plain','{}',NULL,'[]',0.5,7,7,1,'48acbb9c630a69a055d0c0610d7aa63aa7fc3ce5fd1ca812f4843d0eccea78bb',NULL,'2026-11-22 08:05:39.506141','2026-11-22 08:05:39.508859',NULL,0,'evicted',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('281cb1dbb4a342c98e49923cf7ca604d','bob',NULL,NULL,'decision','note','detail',NULL,'bob''s own','text/plain','{}',NULL,'[]',0.5,45,45,1,'deb5f07cca34e6cc81f5a678cb7db3ee752ab8d28015fd8ad8beff09d7b69164',NULL,'2026-11-22 08:05:39.555242','2026-11-22 08:05:39.555243',NULL,1,'The launch window of the rocket is on Friday.',NULL);
INSERT OR REPLACE INTO agent_memory_deletions VALUES('ann','gone','2026-11-22 08:05:39.549749','forgotten');
INSERT OR REPLACE INTO agent_memory_deletions VALUES('ann','gone-too','2026-11-22 08:05:39.554480','a retention rule');
INSERT OR REPLACE INTO agent_memory_owners VALUES(1,'ann',19,1047);
INSERT OR REPLACE INTO agent_memory_owners VALUES(2,'bob',1,7);
INSERT OR REPLACE INTO sqlite_sequence VALUES('agent_memory_owners',2);
INSERT OR REPLACE INTO sqlite_sequence VALUES('agent_memory_passages',23);
INSERT OR REPLACE INTO agent_memory_settings VALUES('analyzer','1');
INSERT OR REPLACE INTO agent_memory_access VALUES('681915d15ff94f6496acfc3c34a1dded','2026-11-22 08:05:39.544190',2);
INSERT OR REPLACE INTO agent_memory_access VALUES('871220e98fc5423e917cef63219aa4c4','2026-11-22 08:05:39.545187',1);
INSERT OR REPLACE INTO agent_memory_passages VALUES(1,'681915d15ff94f6496acfc3c34a1dded',0,0,45,1,6,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(2,'d7f1bf4a282b409082ce16f2f16d14ef',0,0,15,1,24,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(3,'871220e98fc5423e917cef63219aa4c4',0,0,1977,1,463,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(4,'871220e98fc5423e917cef63219aa4c4',1,1977,3642,66,387,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(5,'ca4bb9bc7fb848618d9d0dc7e87711d1',0,0,12,1,4,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(6,'777219b717594ebeb423418990270ec7',0,0,18,1,4,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(7,'3ec521c75765433f93146f1279d3f9f4',0,0,14,1,4,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(8,'5ca3f5cb30f14fd38fccd94ff4379414',0,0,0,1,2,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(9,'6d4e7d9f29cb4f2d8d6de5dc996106c3',0,0,0,1,2,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(10,'3fbfbc78ae2647929f5bf003ce0d06bb',0,0,74,1,15,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(11,'b31da0e9b8224b9aa1d9656bae3d91d9',0,0,0,1,3,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(12,'82e811d19f0c4fddb66d550a162c0881',0,0,22,1,13,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(13,'e7105b4164724c4fb494dee33b86cf38',0,0,26,1,13,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(14,'b86046f215374973bacb593b18e45eaa',0,0,23,1,13,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(15,'fe21916a03ae4a559b1e9b71ba09ba16',0,0,23,1,13,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(16,'296bc8a020f94e148aab29f048b4d127',0,0,26,1,13,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(17,'c5eec93ed8fa4bce89604de4afb326eb',0,0,25,1,13,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(18,'26fba857be734676b6fdb578adc0488e',0,0,500,1,50,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(20,'4d166304cbc54ffdb21c93354ace4aef',0,0,7,1,5,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(23,'281cb1dbb4a342c98e49923cf7ca604d',0,0,45,1,7,NULL);
INSERT OR REPLACE INTO agent_memory_index_data VALUES(1,X'148309');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(10,X'00000000020A19000A1101010101010201010301010401010501010601010701010801010901010000');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(137438953473,X'000000660430313A311203063638303439391203083866363830343939120306696E7374616C1203046C696E651203036E706D1206115F696E7374616C6C5F38663638303439391203096F7574707574E281B51203087368617265E281B512030474657874120406090B090706140C0B');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(274877906945,X'000000220430313A311303076576696374C2B21303046C696E65130304746578741304060A07');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(412316860417,X'000000260430313A31130003076576696374C2B2130003046C696E651300030474657874130004070B08');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(549755813889,X'000000220430313A311403076576696374C2B21403046C696E65140304746578741404060A07');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(687194767361,X'000000230430313A31150306676F6E65C2B21503046C696E6515030674657874C2B21504060907');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(824633720833,X'000000270430313A3115000306676F6E65C2B2150003046C696E651500030674657874C2B2150004070A08');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(962072674305,X'0000002C0430313A3116030A676F6E652D746F6FC2B2160702C2B21603046C696E6516030674657874C2B21604060D0507');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(1099511627777,X'000000310430313A311600030A676F6E652D746F6FC2B216000702C2B2160003046C696E651600030674657874C2B2160004070E0608');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(1236950581249,X'0000003C0630323A626F6217030564656369731703066672696461791703066C61756E6368170306726F636B65741703017317030677696E646F771704080809090904');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(2336462209025,X'0000064B0730313A30E281B50301030131010103010101010301010101010401300305013004050131040501320405013304050134040501350405013604050337C2B204050338C2B2040501390301040131030501300301050131030105013204050133040501340405013504050136040501370405013804050139040401320304013303040134030501340405013504050136030501370305013803040135030401360304013703040138030501310405013204050133030501340305013503040139030402C2B20A0403E281B503010303322E350A040130030401310305013804050139040401320305013003050131030501320304013303040134030401350305013504050136040501370305013803050139030401360304013703040138030401390305013204050133040501340305013503050136030402C2B20A0403E281B5030103023330030401310304013203050139040401330301050130040501310305013203050133030401340301040335C2B20304023636040501370405013803050139030502C2B20304023730030502C2B20304013803040139030403E281B5030103023430030501330405013404050135040501360305013703040131030401320304013303040134030501310405013204050133030501340304013503040136030401370305023131030501380405013904040138030501300305013103040139030403E281B503010301350A040130030401310305013504050136040501370305013803040132030401330304013403040135030501320405013304050134030501350304013603040137030401380305013904040139030501300405013103050132030403E281B50301030236300304013103040132030501360405013704050138030501390304013303040134030401350404013604050133040501340405013503050136030401370404013804040139040403E281B503010301370304023030040501310405013203050133030502C2B204040331C2B2040401320301040133030105013704050138040501390304013403010501300304013504040136040401370405013404050135040501360305013703040138040401390403013803040130040401310405013104050132040501330305013403040132040401330404013404050138040501390404013504050130030501310304013604040137040401380405013504050136040501370305013803040139040301390304013004040131040401320405013204050133040501340305013503040133040401340404013504050139040401360405013004050131030501320304013704040138040401390405013604050137040501380305013903030662696E6172690904067265616BC2B20703066368696E65730203056465636973010305656D707469080305666F756E640304057269646179010308676C6F62616CC2B211040372756E0C010101010103046964C2B20A04086E2D676C6F62616C110604706C616E0E0706726F6A65637410060372756E0C060773657373696F6E0D06047461736B0F050373696405040374656D0A03046A736F6E0A03046C61726703010504756E6368010403696E65070501010101010703E281B5030104036F6E650603056D73E281B5030103066E616D65C2B20A04046967687403040B6F7465732F676C6F62616C110904706C616E0E0A06726F6A65637410090372756E0C090773657373696F6E0D09047461736B0F0702C2B20C01010101010403756C6C0A0602C2B205030870617373776F72640B04056C616EC2B20E0408726F6A656374C2B21003037265640C010101010104056F636B6574010404756EC2B20C030973657373696F6EC2B20D040468696674030404746167650B070C696E672D70617373776F72640B04077572726F67C2B20603067461736BC2B20F04036578740C01010101010405696572C2B20C010101010104066F6F6BE281B50301050374616C0A0301750A030677696E646F770104086F726B6572E281B5030103097A6562726166697368030C052D34373131030303E5A4B1020603E8B4A5020402AF86020603E7A081020402BA93020603E8BF9E020303E68DAE020603E5BA930204028EA5020603E5A4B102040295B0020603E68DAE0204029FA5020603E5AF86020402A380020603E69FA5020303E7A081020303E8AFB7020603E6A380020402B4A5020402BF9E020603E68EA502040A10040404040404040406060504050504040404040404040404040404040404040404040404040404040507060404040404040404040404040404040404040404040404040405070504040405040404040506050404040505050404070504040404040404040404040404040404050404040404040704040404040404040404040404040404040404040404040705040404040404040404040404040404040407040504040405060505040404050404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404090909080808080B0B070B0709060A0706060708070C07060909070E0709060A070A06050B080B0B08070C07070F0A090B0D0A0604090C0C08060605060506060605060506050605060606060505');
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(1,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(2,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(3,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(4,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(5,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(6,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(7,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(8,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(9,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(17,X'',2);
INSERT OR REPLACE INTO agent_memory_index_config VALUES('version',4);
INSERT OR REPLACE INTO memory_context_version VALUES('0002');
